# make demo         the main job on the bundled filings: no model, no GPU, no download of data
# make test         tests against an installed wheel, ruff, the type checker and import-linter
# make test-hostile files and servers that are made to harm
# make test-live    tests that start a real model server, and long comparisons
# make test-browser tests of the pages in a headless Chromium
# make pages        the pages of web/assets from their sources in web/src (needs node; nothing else does)
# make bench        measurements, written to build/bench.json
# make lock         renew requirements.lock: the newest versions that pyproject.toml allows
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Twice quiet: pip's warnings about places it did not look at are nobody's business.
PIP := $(BIN)/python -m pip install -qq
ROOMS := package signatures retrievers documents programs lm data tagging asking serve web eval cli
SOURCES := $(shell find $(ROOMS) -type f ! -path 'web/src/*' ! -path '*/__pycache__/*' 2>/dev/null)
WORKERS ?= 2
export HF_HUB_OFFLINE ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 2

.PHONY: demo test test-live test-hostile test-browser lint pages check-pages bench lock newest audit clean

# The environment: a stamp for each set of packages, made again only when what it is made of changes.
$(VENV)/core.stamp: pyproject.toml requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip build
	$(BIN)/python tools/requirements.py core > $(VENV)/core.txt
	$(PIP) -r $(VENV)/core.txt -c requirements.lock
	touch $@

$(VENV)/dev.stamp: $(VENV)/core.stamp
	$(PIP) --no-deps -r requirements.lock
	touch $@

# The wheel, built in isolation and installed; made again when a source file changes.
$(VENV)/wheel.stamp: $(VENV)/core.stamp $(SOURCES) README.md LICENSE NOTICE
	rm -rf build/wheel build/lib build/bdist.*
	$(BIN)/python -m build --quiet --wheel --outdir build/wheel .
	rm -rf build/lib build/bdist.* *.egg-info
	$(PIP) --no-deps --force-reinstall build/wheel/*.whl
	touch $@

demo: $(VENV)/wheel.stamp
	$(BIN)/abduce eval finance-no-model
	@echo "A filing's page, by two of the paper's rows without a model and by what tags where nothing is named:"
	@for row in direct FHS-rules; do \
	  $(BIN)/abduce tag data/bundled/finance/page.htm --program $$row --gold --out build/demo-$$row.csv; done
	$(BIN)/abduce tag data/bundled/finance/page.htm --gold --out build/demo.csv
	$(BIN)/abduce tag --program FHS-rules --explain F003-f01709

lint: $(VENV)/wheel.stamp $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd $(VENV) && bin/python -m mypy --config-file ../pyproject.toml --strict -p abduce
	$(BIN)/lint-imports

# The pages' compiler and libraries: the versions of web/src/package-lock.json.
web/src/node_modules/.stamp: web/src/package.json web/src/package-lock.json
	cd web/src && npm ci --ignore-scripts --no-progress
	touch $@

pages: web/src/node_modules/.stamp
	cd web/src && npm run --silent check && npm test --silent && npm run --silent build

check-pages: web/src/node_modules/.stamp
	cd web/src && npm run --silent check && npm test --silent && npm run --silent build -- --check

test: lint check-pages
	$(BIN)/pytest tests -q -n $(WORKERS) -m "not live and not browser and not hostile"

test-hostile: $(VENV)/wheel.stamp $(VENV)/dev.stamp
	$(BIN)/pytest tests/hostile -q -s -m hostile

test-live: $(VENV)/wheel.stamp $(VENV)/dev.stamp
	$(BIN)/pytest tests -q -m live

test-browser: $(VENV)/wheel.stamp $(VENV)/dev.stamp web/src/node_modules/.stamp
	$(BIN)/pytest tests -q -m browser

bench: $(VENV)/wheel.stamp $(VENV)/dev.stamp
	$(BIN)/python bench/run.py

# In an environment of its own, so that what is installed by hand does not get into the lock.
lock:
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install -qq --upgrade pip
	$(PYTHON) tools/requirements.py dev > build/lock/dev.txt
	$(PYTHON) tools/requirements.py nodeps > build/lock/nodeps.txt
	build/lock/bin/python -m pip install -qq -r build/lock/dev.txt
	build/lock/bin/python -m pip install -qq --no-deps -r build/lock/nodeps.txt
	build/lock/bin/python tools/requirements.py frozen > requirements.lock

# What the newest versions break: reported, never a failure.
newest: $(VENV)/wheel.stamp $(VENV)/dev.stamp
	-$(BIN)/python tools/newest.py

# Known weaknesses of the locked versions: reported, never a failure.
audit:
	@mkdir -p build && $(PYTHON) -m venv build/audit && build/audit/bin/python -m pip install -qq pip-audit
	@-timeout 180 build/audit/bin/pip-audit --no-deps --disable-pip --progress-spinner off -r requirements.lock \
	> build/audit.txt 2>&1
	@echo "pip-audit: $$(head -n 1 build/audit.txt)"
	@echo "pip-audit: $$(grep -c 'could not be audited' build/audit.txt) packages could not be looked up from here; all is in build/audit.txt"

clean:
	rm -rf build $(VENV) *.egg-info
