"""Which positions are pushed, how hard, and what moves."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from shapewatch.properties import (
    batch_independence,
    causality,
    order_sensitivity,
    past,
)
from shapewatch.properties.perturbation import (
    reach,
    sampled_positions,
    sampled_text,
    with_noise,
    with_noise_added,
)
from shapewatch.properties.subject import Subject
from tformer_lite import running_example, running_model, tiny_translator

ROWS = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))
IDS = torch.tensor([[1, 0, 1, 1, 0, 0], [0, 1, 0, 1, 1, 0]])


def test_a_push_is_twice_as_large_as_the_vectors():
    for size in 0.01, 1.0, 100.0:
        x = size * ROWS
        push = with_noise(x, slice(None)) - x
        assert 1.8 < (push.std() / x.std()).item() < 2.2


def test_a_shift_of_all_channels_would_hide_behind_a_norm():
    norm = nn.LayerNorm(12)
    leaks = lambda x: x + norm(x.roll(-1, 1))  # noqa: E731
    assert_close(leaks(ROWS + 1), leaks(ROWS) + 1)
    assert causality(leaks, ROWS).holds is False


def test_lookups_of_the_ids_are_counted_and_no_others():
    table = nn.Embedding(2, 6)  # just as large as the ids
    with with_noise_added([IDS], [3], 0) as nudge:
        once, again, other = table(IDS), table(IDS), table(1 - IDS)
        nn.functional.embedding(torch.tensor([0, 1]), IDS.float())
        by_index = table.weight[IDS]
    assert nudge.lookups == 3
    assert once.equal(again)
    assert once.equal(by_index)
    assert other.equal(table(1 - IDS))
    moved = (once != table(IDS)).any(-1)
    assert moved.equal((torch.arange(6) == 3).expand(2, 6))


class Ahead(nn.Module):
    """Hears the next position."""

    def forward(self, rows):
        return rows + rows.roll(-1, 1)


def test_the_module_that_hears_the_future_is_named():
    model = nn.Module()
    model.inner = Ahead()
    model.forward = lambda x: model.inner(rows=x + 1)
    assert "does, first in inner." in causality(model, ROWS).says
    whole = nn.Sequential(nn.Linear(12, 12), nn.Tanh(), Ahead())
    assert "does, first in 2." in causality(whole, ROWS).says


DRAW = torch.Generator().manual_seed(0)
LONG = torch.randint(2, 50, (2, 40), generator=DRAW)
LONG_ROWS = torch.randn(2, 40, 8, generator=DRAW)


def test_positions_that_are_not_asked_have_no_number():
    subject = Subject(nn.Identity(), (LONG_ROWS,), positions=4)
    moves = reach(subject, 0)
    assert moves.shape == (2, 40, 40)
    some = [0, 13, 26, 39]
    assert (~moves[0, 0].isnan()).nonzero()[:, 0].tolist() == some
    assert sampled_text(subject, 0) == " (4 of 40 positions tested.)"


def test_padding_and_unknown_words_are_asked_wherever_they_stand():
    ids = LONG.clone()
    ids[0, 30:33], ids[1, 17] = 1, 0
    subject = Subject(nn.Identity(), (ids,), pad=1, unknown=0, positions=2)
    assert sampled_positions(subject, 0) == [0, 17, 30, 32, 39]


def window(x):
    """Each position hears itself, and the one before it."""
    return x + x.roll(1, 1) * (torch.arange(x.shape[1]) > 0)[:, None]


def test_a_window_between_two_positions_is_not_deaf():
    finding = past(window, LONG_ROWS, positions=4)
    assert finding.holds, finding
    assert finding.says.endswith("one before it. (4 of 40 positions tested.)")
    deaf = lambda x: x + x[:, :1] * (x[:, :, :1] > 9)  # noqa: E731
    assert not past(deaf, LONG_ROWS, positions=4).holds


PAIR = running_example()[:2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("src", "own", "side"),
    [
        ("none", "sinusoidal", "target"),
        ("sinusoidal", "none", "source"),
        (None, "none", ""),
    ],
)
def test_a_side_that_asks_for_no_positions_is_not_blamed(src, own, side):
    config = replace(tiny_translator, src_positions=src, positions=own)
    says = f"The outputs depend on the order of the {side}."
    if not side:
        says = "No positions are needed, or no words differ."
    assert order_sensitivity(running_model(config), *PAIR).says == says


@pytest.mark.parametrize("share", [1e-5, 1e-3])
def test_a_row_may_round_apart_in_a_batch(share):
    """Ten times as far as a push that counts."""

    def rounded(x):
        return x * (1 + share * (len(x) > 1))

    assert batch_independence(rounded, ROWS).holds is (share == 1e-5)
