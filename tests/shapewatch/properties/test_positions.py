"""Of a long input some positions are pushed, and the sentences say so."""

import pytest
import torch
from torch import nn

from shapewatch.properties import (
    causality,
    padding_invariance,
    past,
    report,
    source_dependence,
    unknown_words,
)
from shapewatch.properties.perturbation import (
    evenly_spaced,
    reach,
    sampled_positions,
    sampled_text,
)
from shapewatch.properties.subject import Subject
from tests.helpers.strangers import GPT

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


def test_of_many_unknown_words_some_are_asked():
    ids = LONG.clone()
    ids[0, 5:25] = 1
    model = nn.Sequential(nn.Embedding(50, 8), nn.GRU(8, 8, batch_first=True))
    found = unknown_words(model, ids, unknown=1, positions=2)
    assert found.holds, found


def window(x):
    """Each position hears itself, and the one before it."""
    return x + x.roll(1, 1) * (torch.arange(x.shape[1]) > 0)[:, None]


def test_a_window_between_two_positions_is_not_deaf():
    finding = past(window, ROWS, positions=4)
    assert finding.holds, finding
    assert finding.says.endswith("an earlier one. (4 of 40 positions asked.)")
    deaf = past(lambda x: x + x[:, :1] * (x[:, :, :1] > 9), ROWS, positions=4)
    assert not deaf.holds


class Reads(nn.Module):
    """Position t of the target hears position t of the source."""

    def forward(self, src, tgt):
        return tgt.cumsum(1) + src


def test_a_source_that_is_heard_between_positions_is_heard():
    says = source_dependence(Reads(), ROWS, ROWS + 1, positions=3).says
    assert says.startswith("No attention was found")  # not: hears nothing


@pytest.mark.slow
def test_the_sentences_say_how_many_positions_were_asked():
    torch.manual_seed(0)
    model = GPT()
    model.places = nn.Embedding(40, 16)
    found = report(model, LONG, positions=5)
    asks = " (5 of 40 positions asked.)"
    assert (
        found["causality"].says == f"No position depends on a later one.{asks}"
    )
    assert found["past"].says.endswith(asks)
    assert found.ok


def test_the_future_is_heard_also_where_few_are_asked():
    finding = causality(lambda x: x.flip(1).cumsum(1), ROWS, positions=3)
    assert finding.says.startswith("Row 0: position 0 moves when position")


def test_two_positions_are_the_least():
    with pytest.raises(ValueError, match="positions=1 is too few: the first"):
        report(nn.Identity(), ROWS, positions=1)
