"""The same numbers each time; sums as small as these are quickest alone."""

import pytest
import torch


@pytest.fixture(autouse=True)
def seed():
    before = torch.get_num_threads()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
