"""Values that go between the process of a student's code and the judge's."""

import json

import pytest
import torch

from classroom.evidence import equal
from classroom.exercise import exercise, exercises
from classroom.mistakes import answer_of, value_of
from classroom.trials import draw_trial
from classroom.values import from_json, plain_value, read_case, to_json
from tests.helpers.small_exercises import Odd

CODED = [
    name
    for name, each in exercises().items()
    if not each.rubric and each.kind != "result"
]


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
        {"tensor": [1], "shape": [True], "dtype": "torch.int64"},
        {"pickle": "gASVCgAAAAAAAACMBHRleHSULg=="},
        {"tuple": 3},
        {"list": [1]},
        {"named": "Linear"},
        {"of": "Case", "parts": {}},
    ],
)
def test_what_was_forged_is_not_read(data):
    with pytest.raises(ValueError, match="no (value|tensor)"):
        from_json(data)


@pytest.mark.full
@pytest.mark.parametrize("name", CODED)
def test_a_case_that_is_sent_asks_the_same(name):
    each = exercise(name)
    trial, answer = draw_trial(each, "sent"), answer_of(each)
    for case, wanted in zip(trial.cases, trial.wanted):
        sent = read_case(json.loads(json.dumps(to_json(case))))
        assert sent.sizes == case.sizes
        assert equal(value_of(answer, sent), wanted, each.tolerance)
