"""Of a long input some positions are pushed, and the sentences say so."""

import pytest
import torch
from torch import nn

from shapewatch.properties import (
    padding_invariance,
    past,
    report,
    unknown_words,
)
from shapewatch.properties.perturbation import (
    evenly_spaced,
    reach,
    sampled_positions,
    sampled_text,
)
from shapewatch.properties.subject import Subject

LONG = torch.randint(
    2, 50, (2, 40), generator=torch.Generator().manual_seed(0)
)
ROWS = torch.randn(2, 40, 8, generator=torch.Generator().manual_seed(0))


def test_places_are_spread_from_the_first_to_the_last():
    assert evenly_spaced(range(40), 4) == [0, 13, 26, 39]
    assert evenly_spaced(range(3), 4) == [0, 1, 2]
    assert evenly_spaced([5, 9, 20], 2) == [5, 20]


def test_positions_that_are_not_asked_have_no_number():
    subject = Subject(nn.Identity(), (ROWS,), positions=4)
    moves = reach(subject, 0)
    assert moves.shape == (2, 40, 40)
    some = [0, 13, 26, 39]
    assert (~moves[0, 0].isnan()).nonzero()[:, 0].tolist() == some
    assert sampled_text(subject, 0) == " (4 of 40 positions asked.)"
    assert sampled_text(Subject(nn.Identity(), (ROWS,), positions=40), 0) == ""


def test_padding_and_unknown_words_are_asked_wherever_they_stand():
    ids = LONG.clone()
    ids[0, 30:33], ids[1, 17] = 1, 0
    subject = Subject(nn.Identity(), (ids,), pad=1, unknown=0, positions=2)
    assert sampled_positions(subject, 0) == [0, 17, 30, 32, 39]


def hears_padding(ids):
    table = torch.arange(50.0)[:, None] * torch.ones(8)
    return nn.functional.embedding(ids, table).cumsum(1)


def test_what_is_wrong_in_the_middle_is_found():
    ids = LONG.clone()
    ids[0, 30] = 1
    known = {"pad": 1, "positions": 2}
    says = padding_invariance(hears_padding, ids, **known).says
    assert says.startswith("Row 0: output 31 moves when input position 30")
    deaf = unknown_words(nn.Embedding(50, 8), ids, unknown=1, positions=2)
    assert "no output depends on input position 30" in deaf.says


def window(x):
    """Each position hears itself, and the one before it."""
    return x + x.roll(1, 1) * (torch.arange(x.shape[1]) > 0)[:, None]


def test_a_window_between_two_positions_is_not_deaf():
    finding = past(window, ROWS, positions=4)
    assert finding.holds, finding
    assert finding.says.endswith("an earlier one. (4 of 40 positions asked.)")
    deaf = past(lambda x: x + x[:, :1] * (x[:, :, :1] > 9), ROWS, positions=4)
    assert not deaf.holds


def test_two_positions_are_the_least():
    with pytest.raises(ValueError, match="positions=1 is too few: the first"):
        report(nn.Identity(), ROWS, positions=1)
