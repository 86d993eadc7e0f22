"""Who hears whom, with models made to hear just that."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from shapewatch.properties import (
    batch_independence,
    order_sensitivity,
    unknown_words,
)
from shapewatch.properties.dependence import exchanges
from shapewatch.properties.subject import Subject
from tformer_lite import running_example, running_model, tiny_translator

SRC = torch.tensor([[2, 5, 6, 7, 8, 0], [2, 6, 9, 5, 4, 7]])
TGT = torch.tensor([[2, 7, 5, 8], [2, 9, 4, 6]])
ROWS = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))
PAIR = running_example()[:2]


class Hearing(nn.Module):
    """Each target row is a vector of its own plus what it hears, by a matrix
    (B, T, S) of weights that is made of both ids."""

    def __init__(self, hears):
        super().__init__()
        torch.manual_seed(0)
        self.source, self.target = (nn.Embedding(10, 12) for _ in "st")
        self.hears = hears

    def forward(self, src, tgt):
        heard = self.hears(src, tgt).float() @ self.source(src)
        return self.target(tgt) + heard


def everyone(src, tgt):
    return torch.ones(len(src), tgt.shape[1], src.shape[1])


def all_but_unknown(src, tgt):
    return everyone(src, tgt) * (src != 0)[:, None]


def test_of_the_source_the_last_word_can_be_heard_too():
    hears = Hearing(everyone), Hearing(all_but_unknown)
    found = [unknown_words(model, SRC, TGT, unknown=0) for model in hears]
    assert [finding.holds for finding in found] == [True, False]
    assert "source position 5" in found[1].says


def exchanged(*inputs):
    """Which words of which inputs change places, and how many outputs are
    looked at."""
    found = exchanges(Subject(Hearing(everyone), inputs))
    return [(which, p, q, tuple(x.shape)) for which, p, q, x in found]


def test_the_first_two_words_that_differ_change_places():
    alike = SRC.clone()
    alike[0, :3] = 5
    assert exchanged(SRC, TGT) == [(0, 0, 1, (1, 4)), (1, 0, 1, (1, 4))]
    assert exchanged(alike, TGT)[0] == (0, 0, 3, (1, 4))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("src", "own", "says"),
    [
        (
            "none",
            "sinusoidal",
            "The outputs depend on the order of the target.",
        ),
        (
            "sinusoidal",
            "none",
            "The outputs depend on the order of the source.",
        ),
        (None, "none", "No positions are asked for, or no words differ."),
    ],
)
def test_a_side_that_asks_for_no_positions_is_not_blamed(src, own, says):
    config = replace(tiny_translator, src_positions=src, positions=own)
    assert order_sensitivity(running_model(config), *PAIR).says == says


@pytest.mark.parametrize("share", [1e-5, 1e-3])
def test_a_row_may_round_apart_in_a_batch(share):
    """Ten times as far as a push that counts."""

    def rounded(x):
        return x * (1 + share * (len(x) > 1))

    assert batch_independence(rounded, ROWS).holds is (share == 1e-5)
