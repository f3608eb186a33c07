"""The data folder and the stub model under the names that tests of experiments use."""

from __future__ import annotations

import pytest


@pytest.fixture
def folder(qa_folder):
    return qa_folder


@pytest.fixture
def model(stub_model):
    return stub_model
