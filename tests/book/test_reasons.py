"""The runs that ask why: what is asked of a list, and what was found."""

import torch

from benchmarks.reasons import LISTED, WORDS, Lookups, found
from tformer_lite import trained_lookup
from tformer_lite.example.shipped import stored


def test_a_list_asks_what_followed_a_token_the_first_time():
    data = Lookups(200, seed=3)
    (x,), y = data[list(range(200))]
    assert x.shape == y.shape == (200, LISTED + 1)
    for row, labels in zip(x.tolist(), y.tolist(), strict=True):
        *listed, asked = row
        assert len({*listed}) == LISTED
        assert max(listed) < WORDS
        assert labels[:-1] == [Lookups.ignore] * LISTED
        assert labels[-1] == listed[listed.index(asked) + 1]


def test_one_block_does_not_look_up_in_two_steps():
    kept = stored("blocks")
    shares = {
        n: torch.tensor([*kept[n]["seeds"].values()]) for n in ("1", "2", "3")
    }
    assert shares["1"].max() < 0.15  # one of sixteen is .06
    assert shares["2"].median() > 0.99
    assert shares["3"].median() > 0.99


def test_the_lookup_that_ships_looks_up():
    model = trained_lookup().model
    assert found(model, Lookups(1_000, seed=2)) == 1
    model.decoder.blocks[0].self_attention.output.weight.data.zero_()
    assert found(model, Lookups(1_000, seed=2)) < 0.15
