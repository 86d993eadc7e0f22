"""Where a test writes its checkpoint."""

import pytest


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pt"
