"""Where the development data lie, for tests that also read real files."""

from __future__ import annotations

from pathlib import Path

import pytest

QA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "qa"


@pytest.fixture
def qa_data():
    """The ``qa`` folder of the development data; a test that needs it is skipped without it."""
    if not QA.is_dir():
        pytest.skip("needs ../shared/data/qa")
    return QA
