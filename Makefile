# make demo   the main job on the bundled filings: no model, no GPU, no download of data
# make test   tests against an installed wheel, ruff, the type checker and import-linter
# make bench  measurements, written to build/bench.json
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find package signatures retrievers documents programs lm data tagging asking eval cli -type f ! -path '*/__pycache__/*' 2>/dev/null)
export HF_HUB_OFFLINE ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test bench lint clean

# The environment: a stamp for each set of packages, made again only when pyproject.toml changes.
$(VENV)/core.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip build
	$(BIN)/python tools/requirements.py core > $(VENV)/core.txt
	$(BIN)/python -m pip install --quiet -r $(VENV)/core.txt
	touch $@

$(VENV)/dev.stamp: $(VENV)/core.stamp
	$(BIN)/python tools/requirements.py dev > $(VENV)/dev.txt
	$(BIN)/python -m pip install --quiet -r $(VENV)/dev.txt
	$(BIN)/python tools/requirements.py nodeps > $(VENV)/nodeps.txt
	$(BIN)/python -m pip install --quiet --no-deps -r $(VENV)/nodeps.txt
	touch $@

# The wheel, built in isolation and installed; made again when a source file changes.
$(VENV)/wheel.stamp: $(VENV)/core.stamp $(SOURCES) README.md LICENSE NOTICE
	rm -rf build/wheel build/lib build/bdist.*
	$(BIN)/python -m build --quiet --wheel --outdir build/wheel .
	rm -rf build/lib build/bdist.* *.egg-info
	$(BIN)/python -m pip install --quiet --no-deps --force-reinstall build/wheel/*.whl
	touch $@

demo: $(VENV)/wheel.stamp
	$(BIN)/abduce eval finance-no-model
	$(BIN)/abduce tag --program FHS-rules --explain F003-f01709

lint: $(VENV)/wheel.stamp $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd $(VENV) && bin/python -m mypy --config-file ../pyproject.toml --strict -p abduce
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest tests -q

bench: $(VENV)/wheel.stamp $(VENV)/dev.stamp
	$(BIN)/python bench/run.py

clean:
	rm -rf build $(VENV) *.egg-info
