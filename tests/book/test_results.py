"""The longer runs do what they say: source 000's start, nanoGPT's rates."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

from benchmarks.characters import (
    SIZES,
    STEPS,
    Pieces,
    by_position,
    nano,
    nano_rate,
)
from benchmarks.translators import as_source, as_source_embeds, new_model
from tests.helpers import source_000
from tests.helpers.as_source_000 import NAMES, transposed
from tests.helpers.weights import count, renamed
from tformer_lite import DecoderOnly, Windows, char_lm, tiny_translator

SHRUNK = replace(tiny_translator, embedding="shrunk")


def spreads(model) -> dict[str, float]:
    """How far the numbers of each matrix of ours are spread."""
    weights = [(n, p) for n, p in model.named_parameters() if p.ndim == 2]
    return {
        renamed(n, NAMES): transposed(n, p).std().item() for n, p in weights
    }


def test_a_start_as_in_source_000_is_source_000s():
    model, theirs = new_model(SHRUNK), source_000.Translator()
    as_source(model)
    mine = spreads(model)
    matrices = {n: p for n, p in theirs.named_parameters() if p.shape[0] > 1}
    assert mine.keys() == matrices.keys()
    for name, weight in matrices.items():
        # Within four standard errors of either draw.
        near = 4 * weight.numel() ** -0.5
        assert mine[name] == pytest.approx(weight.std().item(), rel=near)


def test_its_embedding_alone_leaves_the_layers_as_they_were():
    before, model = spreads(new_model(SHRUNK)), new_model(SHRUNK)
    as_source_embeds(model)
    after = spreads(model)
    for name, spread in after.items():
        if "words" in name or "places" in name:
            assert spread == pytest.approx(1, rel=0.3)
        else:
            assert spread == before[name]


def test_nanogpts_rate_climbs_100_steps_and_falls_to_a_tenth():
    rates = [nano_rate(step, STEPS) for step in range(1, STEPS.steps + 1)]
    assert rates[:100] == pytest.approx([n / 100 for n in range(1, 101)])
    assert rates[(100 + STEPS.steps) // 2] == pytest.approx((1 + 0.1) / 2)
    assert rates[-1] == pytest.approx(0.1, rel=1e-3)


def test_nanogpts_model_has_one_table_and_as_many_numbers_as_it_says():
    """0.80 million for 65 characters, without positions: what it prints."""
    model = nano(replace(SIZES, vocab_size=65), STEPS).model
    assert model.head.weight is model.embedding.tokens.weight
    places = model.embedding.positions.table
    assert f"{(count(model) - places.numel()) / 1e6:.2f}" == "0.80"
    assert places.std().item() == pytest.approx(0.02, rel=0.05)


@pytest.mark.slow
def test_the_loss_by_position_is_that_of_each_label_alone():
    torch.manual_seed(0)
    model = DecoderOnly(replace(char_lm, vocab_size=7, max_len=9)).eval()
    data = Windows(torch.randint(7, (30,)), 9)
    losses = torch.zeros(9, len(data))
    with torch.no_grad():
        for i in range(len(data)):
            (x,), y = data[i]
            for t in range(9):
                logits = model(x[None, : t + 1])[0, -1]
                losses[t, i] = cross_entropy(logits, y[t])
    assert_close(by_position(model, data), losses.mean(1))


def test_pieces_have_each_label_once():
    (x,), y = Pieces(torch.arange(22), 5)[[0, 1, 2, 3]]
    assert y.flatten().tolist() == list(range(1, 21))
    assert x.equal(y - 1)
