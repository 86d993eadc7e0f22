"""Values that go between the process of a student's code and the judge's."""

import json

import pytest
import torch

from classroom.values import from_json, plain_value, to_json
from tests.helpers.small_exercises import Odd


@pytest.mark.parametrize(
    "value",
    [
        None,
        float("-inf"),
        (1, (2.5, "थिएन")),
        {"a": (True,)},
        torch.tensor([[True], [False]]),
        torch.tensor([1.5, float("inf")], dtype=torch.float64),
        torch.zeros(2, 0),
        Odd(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_is_sent_comes_back_the_same(value):
    mine = plain_value(value)
    back = from_json(json.loads(json.dumps(to_json(mine))))
    if isinstance(mine, torch.Tensor):
        assert (back.dtype, back.shape) == (mine.dtype, mine.shape)
        assert torch.equal(back, mine)
    else:
        assert back == mine


@pytest.mark.parametrize(
    "data",
    [
        [],
        {"tensor": [1], "shape": [2], "dtype": "torch.int64"},
        {"tensor": [1], "shape": [-1, -1], "dtype": "torch.int64"},
        {"tensor": [1], "shape": [1], "dtype": "torch.load"},
        {"pickle": "gASVCgAAAAAAAACMBHRleHSULg=="},
        {"tuple": 3},
        {"of": "Case", "parts": {}},
    ],
)
def test_what_was_forged_is_not_read(data):
    with pytest.raises(ValueError, match="no (value|tensor)"):
        from_json(data)
