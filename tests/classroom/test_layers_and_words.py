"""Answers that are layers, and answers that are explanations."""

import pytest
import torch
from torch import nn

from classroom.exercise import exercise, exercises
from classroom.judging import FEW, tried
from tests.helpers.answers import written_answers

GATE = exercise("gated_residual")


def right_gate():
    own = [a for a in written_answers() if a.exercise == GATE.name and a.right]
    return own[0].value()


def test_an_object_in_the_place_of_a_class_is_told():
    layer = right_gate()(5, nn.LayerNorm)
    assert "hand over the class itself" in tried(GATE, layer).says


def test_other_parameters_than_the_stub_s_are_named():
    class Narrow(right_gate()):
        def __init__(self, *words, **options):
            super().__init__(*words, **options)
            self.gate = nn.Linear(self.gate.in_features, 1)

    says = tried(GATE, Narrow).says
    assert "missing, or of another shape, is gate.weight (" in says


def test_a_dropout_in_the_wrong_place_is_seen():
    class Outside(right_gate()):
        def forward(self, x, sublayer):
            drop, self.dropout = self.dropout, nn.Identity()
            y = super().forward(x, sublayer)
            self.dropout = drop
            return drop(y)

    assert tried(GATE, right_gate()).right
    assert "dropout is not where it belongs" in tried(GATE, Outside).says


@pytest.mark.parametrize(
    "name", [n for n, each in exercises().items() if each.rubric]
)
def test_what_is_asked_of_an_explanation_is_shown_once_there_is_one(name):
    each = exercise(name)
    assert tried(each, "\n...\n").mistakes == ("not written",)
    assert tried(each, 3).mistakes == ("not written",)
    short, long = (tried(each, "word " * n) for n in (FEW - 1, FEW))
    assert short.share is long.share is None
    assert not any(part in short.says for part in each.rubric)
    assert all(part in long.says for part in each.rubric)


def test_floats_are_no_ids():
    each = exercise("reads_and_says")
    own = [a for a in written_answers() if a.exercise == each.name and a.right]
    right = own[0].value()

    def floats(*args):
        return tuple(x.float() for x in right(*args))

    assert tried(each, right).right
    assert (
        "expected whole numbers, got torch.float32" in tried(each, floats).says
    )
    assert torch.get_default_dtype() == torch.float32
