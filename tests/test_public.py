"""The names that a user may rely on."""

import subprocess
import sys

import abduce

NAMES = """FHS HCQR Answer Asker Fact InputError Tag Tagger Tags Taxonomy evaluate read_document""".split()


def test_the_public_names():
    assert abduce.__all__ == NAMES
    assert set(NAMES) <= set(dir(abduce))
    for name in NAMES:
        assert getattr(abduce, name).__name__ == name
    assert not hasattr(abduce, "nothing")


def test_importing_costs_nothing():
    heavy = "{'numpy', 'pydantic', 'dspy', 'numba', 'torch', 'rich', 'typer'} & set(sys.modules)"
    code = f"import sys, abduce; assert not {heavy}; abduce.Tagger; assert not {heavy}"
    subprocess.run([sys.executable, "-c", code], check=True)
