"""Rotated queries and keys know distances, however they are written."""

import re
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn

from shapewatch.properties import relative_positions
from tests.helpers.rotating import (
    Attention,
    OfValues,
    Turning,
    as_it_is,
    as_numbers,
    back,
    growing,
    halves,
    mixed_up,
    neighbours,
    partly,
)
from tests.helpers.strangers import GPT, IDS
from tformer_lite import running_example, running_model, tiny_translator

later = partial(neighbours, start=5)
SIDES = "stand, not on distances"


class GroupedKeys(Attention):
    """One head of keys and values for all queries, handed to one call."""

    def places(self, q, k, v):
        q, k, v = super().places(q, k, v)
        k, v = (x[:, :1].expand_as(x) for x in (k, v))
        return q, k, v


class Louder(Attention):
    """Queries grow with their position, as where contexts are long."""

    def places(self, q, k, v):
        q, k, v = super().places(q, k, v)
        return q * torch.arange(1, q.shape[2] + 1)[:, None].log1p(), k, v


class Written(Attention):
    """Rotated rows are written into empty ones."""

    def places(self, q, k, v):
        made = [torch.zeros_like(x) for x in (q, k)]
        for x, y in zip(super().places(q, k, v), made):
            y[..., ::2] = x[..., ::2]
            y[..., 1::2] = x[..., 1::2]
        return *made, v


class Added(Attention):
    """Positions are added to queries and keys, and not to values."""

    def __init__(self, *turn):
        super().__init__(*turn)
        self.rows = nn.Parameter(torch.randn(7, 8))

    def places(self, q, k, v):
        return q + self.rows, k + self.rows, v


def asked(*turn, **options):
    """Ask about a model with such rotations."""
    torch.manual_seed(0)
    return relative_positions(Turning(*turn, **options), IDS)


@pytest.mark.slow
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize(
    "turn", [halves, neighbours, as_numbers, partly, later]
)
def test_rotations_are_right_however_they_are_written(turn, fused):
    finding = asked(turn, turn, fused=fused)
    assert finding.holds
    assert finding.says.endswith("in 2 attentions.")


@pytest.mark.parametrize("kind", [GroupedKeys, Louder, Written])
def test_rotations_are_right_whatever_else_is_done(kind):
    assert asked(halves, halves, kind=kind).holds


def test_queries_may_grow_if_keys_shrink_as_much():
    assert asked(growing, partial(growing, by=1 / 1.1)).holds


WRONG = {
    "queries only": (halves, as_it_is, f"queries change .*{SIDES}"),
    "opposite signs": (halves, back, "opposite directions"),
    "other pairs": (halves, neighbours, "the same pairs of channels"),
    "pairs mixed up": (mixed_up, mixed_up, "the same pairs of channels"),
    "part of the keys": (halves, partly, "the same pairs of channels"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", WRONG)
def test_rotations_that_know_more_than_distances_are_found(name, fused):
    *turn, says = WRONG[name]
    finding = asked(*turn, fused=fused)
    assert finding.level == "broken"
    assert finding.says.startswith("In blocks.0.attention, ")
    assert re.search(says, finding.says)


def test_positions_that_are_added_are_no_rotations():
    assert asked(as_it_is, as_it_is, kind=Added).holds
    assert relative_positions(GPT(), IDS).holds is None


def test_values_that_are_rotated_are_unusual():
    finding = asked(halves, halves, kind=OfValues)
    assert finding.level == "unusual"
    assert "values are rotated" in finding.says


@pytest.mark.parametrize("own", ["rotary", "full"])
def test_this_modules_rotations_are_right(own):
    config = replace(tiny_translator, positions="none")
    if own == "rotary":
        config = replace(config, attention=own)
    model, pair = running_model(config), running_example()[:2]
    finding = relative_positions(model, *pair)
    assert finding.holds is (own == "rotary" or None)
