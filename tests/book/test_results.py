"""The longer runs do what they say: source 000's start, nanoGPT's rates."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

from benchmarks.characters import STEPS, by_position, nano_rate
from benchmarks.head_jobs import jobs_of, mistake, silenced, verb_mistakes
from benchmarks.reasons import Lookups, share_answered
from benchmarks.translators import as_source
from tests.helpers import source_000
from tests.helpers.sources import NAMES_000, transposed
from tests.helpers.weights import renamed
from tformer_lite import (
    DecoderOnly,
    EncoderDecoder,
    Windows,
    char_lm,
    tiny_translator,
    trained_lookup,
    trained_translator,
)
from tformer_lite.example.shipped import stored

SHRUNK = replace(tiny_translator, embedding="shrunk")


def spreads(model) -> dict[str, float]:
    """How far the numbers of each matrix of ours are spread."""
    weights = [(n, p) for n, p in model.named_parameters() if p.ndim == 2]
    return {
        renamed(n, NAMES_000): transposed(n, p).std().item()
        for n, p in weights
    }


def test_a_start_as_in_source_000_is_source_000s():
    torch.manual_seed(1)
    model, theirs = EncoderDecoder(SHRUNK), source_000.Translator()
    as_source(model)
    mine = spreads(model)
    matrices = {n: p for n, p in theirs.named_parameters() if p.shape[0] > 1}
    assert mine.keys() == matrices.keys()
    for name, weight in matrices.items():
        # Within four standard errors of either draw.
        near = 4 * weight.numel() ** -0.5
        assert mine[name] == pytest.approx(weight.std().item(), rel=near)


def test_nanogpts_rate_climbs_100_steps_and_falls_to_a_tenth():
    rates = [nano_rate(step, STEPS) for step in range(1, STEPS.steps + 1)]
    assert rates[:100] == pytest.approx([n / 100 for n in range(1, 101)])
    assert rates[(100 + STEPS.steps) // 2] == pytest.approx((1 + 0.1) / 2)
    assert rates[-1] == pytest.approx(0.1, rel=1e-3)


def test_the_loss_by_position_is_that_of_each_label_alone():
    sizes = {"vocab_size": 7, "max_len": 9, "d_model": 12, "d_ff": 48}
    model = DecoderOnly(replace(char_lm, **sizes)).eval()
    data = Windows(torch.randint(7, (30,)), 9)
    losses = torch.zeros(9, len(data))
    with torch.no_grad():
        for i in range(len(data)):
            (x,), y = data[i]
            for t in range(9):
                logits = model(x[None, : t + 1])[0, -1]
                losses[t, i] = cross_entropy(logits, y[t])
    assert_close(by_position(model, data), losses.mean(1))


def test_the_lookup_that_ships_looks_up():
    model = trained_lookup().model
    assert share_answered(model, Lookups(1_000, seed=2)) == 1
    model.decoder.blocks[0].self_attention.output.weight.data.zero_()
    assert share_answered(model, Lookups(1_000, seed=2)) < 0.15


def test_a_silent_head_costs_what_it_alone_brought():
    model = trained_translator().model
    assert {name for name, _ in verb_mistakes(model)} == {"right"}
    silent = silenced(model, "cross_attention", 1)
    changed = [
        name
        for name, weight in silent.state_dict().items()
        if not weight.equal(model.state_dict()[name])
    ]
    assert changed == ["decoder.blocks.0.cross_attention.output.weight"]
    rows = silent.get_parameter(*changed)
    assert (rows == 0).all(0).nonzero().flatten().tolist() == [4, 5, 6, 7]


def test_a_verb_and_its_form_are_told_apart():
    said = ["right", "another form", "another verb", "another word"]
    for word, what in zip(["देख्यौँ", "देख्यो", "भेट्यौँ", "चिया"], said):
        assert mistake(word, "देख्यौँ", {"देख", "भेट", "चिन"}) == what


@pytest.mark.full
def test_the_jobs_of_the_heads_that_ship_are_those_that_are_stored():
    measured = jobs_of(trained_translator().model)
    assert stored("head_jobs")["9"] == measured
