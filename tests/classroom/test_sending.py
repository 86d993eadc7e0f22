"""Values that go from the process that plays to the one that judges."""

import json

import pytest
import torch

from classroom.evidence import equal
from classroom.exercise import exercise, exercises
from classroom.sending import read_case, written_case
from classroom.values import packed, plain, unpacked
from tests.helpers.small_exercises import Odd

CODED = [name for name, each in exercises().items() if not each.rubric]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -0.5,
        float("-inf"),
        "थिएन",
        (1, (2.5, "a")),
        {"a": (1,)},
        torch.tensor([[True], [False]]),
        torch.tensor([1.5, float("inf")], dtype=torch.float64),
        torch.zeros(2, 0),
        Odd(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_is_sent_comes_back_the_same(value):
    mine = plain(value)
    back = unpacked(packed(mine))
    if isinstance(mine, torch.Tensor):
        assert back.dtype == mine.dtype
        assert back.shape == mine.shape
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
        {"tensor": [1], "shape": [True], "dtype": "torch.int64"},
        {"pickle": "gASVCgAAAAAAAACMBHRleHSULg=="},
        {"tuple": 3},
    ],
)
def test_what_was_forged_is_not_read(data):
    with pytest.raises(ValueError, match="no (value|tensor)"):
        unpacked(data)


@pytest.mark.full
@pytest.mark.parametrize("name", CODED)
def test_a_case_that_is_sent_asks_the_same(name):
    each = exercise(name)
    for case in each.drawn("sent"):
        sent = read_case(json.loads(json.dumps(written_case(case))))
        assert sent.sizes == case.sizes
        mine, theirs = plain(each.right(case)), plain(each.right(sent))
        assert equal(theirs, mine, each)
