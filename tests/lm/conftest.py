"""A stub server."""

from __future__ import annotations

import pytest
from openai_stub import Stub


@pytest.fixture
def stub():
    with Stub() as server:
        yield server
