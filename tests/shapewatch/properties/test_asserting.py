"""For a test of one's own model there is an assertion of each property."""

import inspect

import pytest
import torch
from torch import nn

from shapewatch import properties
from shapewatch.properties import (
    NotJudgedError,
    assert_causal,
    assert_padding_invariance,
    assert_score_scale,
)
from shapewatch.properties.reporting import CHECKS, LOSS_CHECKS
from tests.helpers.strangers import GPT, IDS

ROWS = torch.randn(2, 5, 8)


def test_each_check_has_an_assertion():
    every = CHECKS + LOSS_CHECKS
    names = {check.__name__: f"assert_{check.__name__}" for check in every}
    names["causality"] = "assert_causal"
    found = {x for x in properties.__all__ if x.startswith("assert_")}
    assert {*names.values()} == found
    for check, name in names.items():
        about = inspect.getdoc(getattr(properties, name))
        assert f"`{check}`" in about


def test_what_is_broken_fails_with_its_sentence():
    with pytest.raises(AssertionError) as caught:
        assert_causal(lambda x: x + x.mean(1, keepdim=True), ROWS)
    says = "causality: ✗ broken. Row 0: position 0 moves when position 1, a"
    assert str(caught.value).startswith(says)


class Unscaled(nn.Module):
    """Scores of small queries have no scale: that is unusual, as in T5."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.qkv.weight.data[:16] /= 4

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        hidden = torch.ones(x.shape[1], x.shape[1]).triu(1) > 0
        return (q @ k.mT).masked_fill(hidden, -torch.inf).softmax(-1) @ v


def test_what_is_unusual_does_not_hold_either():
    torch.manual_seed(0)
    with pytest.raises(AssertionError, match="score_scale: ! unusual. In the"):
        assert_score_scale(Unscaled(), torch.randn(2, 7, 16))


def test_what_cannot_be_judged_does_not_pass_in_silence():
    with pytest.raises(NotJudgedError) as caught:
        assert_padding_invariance(GPT(), IDS)
    assert not isinstance(caught.value, AssertionError)
    assert "There is no padding: give padded rows" in str(caught.value)
    with pytest.raises(TypeError, match="'casual': is 'causal' meant"):
        assert_causal(GPT(), IDS, casual=True)
