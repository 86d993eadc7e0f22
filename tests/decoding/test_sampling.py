"""Draws are fair: as frequent as their probabilities say; and a text that is
written on is the same with a cache and without."""

import re
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tests.helpers.small import build, presets, small, words
from tformer_lite import DecoderOnly, Sampler, generate, likeliest

DRAWS = 20_000


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


LOGITS = torch.tensor([2.0, 1.0, 0.5, 0.5, -1.0, -4.0], dtype=torch.float64)


def expected(temperature=1.0, top_k=0, top_p=1.0) -> Tensor:
    """The probabilities, token by token, from their definitions."""
    weights = {i: (x / temperature).exp() for i, x in enumerate(LOGITS)}
    order = sorted(weights, key=weights.get, reverse=True)
    kept = order[: top_k or len(order)]
    total, share, nucleus = sum(weights[i] for i in kept), 0, []
    for i in kept:
        if share < top_p or top_p == 1:
            nucleus.append(i)
        share += weights[i] / total
    chosen = torch.zeros_like(LOGITS)
    for i in nucleus:
        chosen[i] = weights[i] / sum(weights[j] for j in nucleus)
    return chosen


SETTINGS = [
    {},
    {"temperature": 3.0},
    {"top_k": 1},
    {"top_k": 3},
    {"top_p": 1e-12},
    {"top_p": 0.7},
    {"temperature": 2.0, "top_k": 4, "top_p": 0.8},
]
settings = pytest.mark.parametrize("setting", SETTINGS, ids=str)


@settings
def test_probabilities_are_those_of_the_definitions(setting):
    sampler, wanted = Sampler(**setting), expected(**setting)
    assert_close(sampler.probabilities(LOGITS[None])[0], wanted)
    shuffled = torch.randperm(6, generator=generator())
    others = sampler.probabilities(LOGITS[None, shuffled])[0]
    assert_close(others.sort().values, wanted.sort().values)


@settings
def test_draws_are_as_frequent_as_they_are_probable(setting):
    """Pearson's χ²: with up to 5 degrees of freedom, above 25 is rarer than
    once in 5,000."""
    sampler = Sampler(**setting, generator=generator(1))
    drawn = sampler(LOGITS.expand(DRAWS, 6))
    counts = drawn.bincount(minlength=6)
    wanted = DRAWS * expected(**setting)
    assert (counts[wanted == 0] == 0).all()
    counts, wanted = counts[wanted > 0], wanted[wanted > 0]
    assert ((counts - wanted).square() / wanted).sum() < 25


@pytest.mark.parametrize("setting", [{}, {"top_k": 3}, {"top_p": 0.9}])
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64]
)
def test_no_temperature_is_too_low_or_too_high(setting, dtype):
    """Divided by so little, or so much, a logit is no finite number."""
    logits = torch.tensor([[70.0, 60, -torch.inf, 0]], dtype=dtype)
    for low in (1e-3, 1e-10, 1e-38, 1e-45, 5e-324):
        shares = Sampler(low, **setting).probabilities(logits)
        assert shares.tolist() == [[1, 0, 0, 0]]
        equals = Sampler(low).probabilities(torch.zeros(1, 2, dtype=dtype))
        assert equals.tolist() == [[0.5, 0.5]]
    for high in (1e9, 1e300):
        (shares,) = Sampler(high, **setting).probabilities(logits)
        assert shares.tolist() == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"temperature": 0}, "choose `likeliest`"),
        ({"temperature": float("nan")}, "temperature=nan must be"),
        ({"top_k": -1}, "top_k=-1 must be 1 or more, or 0 for all"),
        ({"top_p": 0}, "top_p=0 must be above 0"),
        ({"top_p": 1.5}, "top_p=1.5 must be above 0, and 1 at most"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(setting, said):
    with pytest.raises(ValueError, match=said):
        Sampler(**setting)


def test_the_generator_is_the_only_source_of_chance():
    draw = partial(Sampler(generator=generator()), torch.zeros(50, 11))
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first, second = draw(), draw()
    assert torch.get_rng_state().equal(before)
    assert not first.equal(second)


def reread(model: DecoderOnly, ids: Tensor, n: int, window=8) -> Tensor:
    """Read all that the model can, again for each token."""
    for _ in range(n):
        with torch.no_grad():
            new = likeliest(model(ids[:, -window:])[:, -1])
        ids = torch.cat((ids, new[:, None]), dim=1)
    return ids


def varied(name: str) -> DecoderOnly:
    """A model whose likeliest text has many different tokens."""
    for seed in range(100):
        model = build(DecoderOnly, small(name), seed)
        with torch.no_grad():
            model.head.weight.mul_(30)
        ids = reread(model, words(11, 2, 1), 20)
        if len(ids[0, 9:].unique()) > 3:
            return model
    raise AssertionError("no such model")


@pytest.mark.slow
@presets
@pytest.mark.parametrize("length", [1, 5, 8, 11])
def test_the_text_is_the_same_across_the_windows_border(name, length):
    """The window has 8 tokens: then every token moves, and is read again."""
    model, ids = varied(name), words(11, 2, length)
    written = generate(model, ids, 20)
    assert written.equal(reread(model, ids, 20))
    assert written.shape == (2, length + 20)


def test_each_token_is_read_once_until_the_window_is_full():
    """The witness: the calls of a layer, one a token."""
    model, ids, read = varied("char_lm"), words(11, 2, 3), []
    part = model.decoder.blocks[0].feed_forward
    part.register_forward_hook(lambda _, x, __: read.append(x[0].shape[1]))
    generate(model, ids, 8)
    assert read == [3, 1, 1, 1, 1, 1, 8, 8]


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 5, 8, 11])
def test_a_window_is_all_that_is_read(length):
    """Of the model's 8 positions the last 3 are no numbers; and one without
    positions reads no more than its window."""
    model, ids = varied("char_lm"), words(11, 2, length)
    with torch.no_grad():
        model.embedding.positions.table[5:] = torch.nan
    for m in (model, build(DecoderOnly, small("char_lm", positions="none"))):
        assert generate(m, ids, 9, window=5).equal(reread(m, ids, 9, 5))


def test_rows_that_have_ended_repeat_their_end():
    model, ids = varied("char_lm"), words(11, 6, 2)
    free = generate(model, ids, 15)
    end = int(free[0, 5])
    text = generate(model, ids, 15, end=end)
    ended = (free[:, 2:] == end).cumsum(1).roll(1, 1)
    ended[:, 0] = 0
    wanted = free[:, 2:].masked_fill(ended > 0, end)
    assert text.shape[1] == 2 + (ended == 0).sum(1).max()
    assert text[:, 2:].equal(wanted[:, : text.shape[1] - 2])
    assert len((ended == 0).sum(1).unique()) > 1


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("shape", [(1, 0), (0, 3), (3,)])
def test_nothing_is_no_prompt(n, shape):
    with pytest.raises(
        ValueError, match=f"shape {re.escape(str(shape))}, not"
    ):
        generate(varied("char_lm"), torch.ones(shape).long(), n)


def test_what_chooses_no_ids_is_refused():
    """One token more, and 0.9 would be written as the id 0."""
    model, ids = varied("char_lm"), words(11, 2, 3)
    with pytest.raises(TypeError, match=r"float64: make them integers"):
        generate(model, ids, 1, lambda logits: logits.amax(-1))
    with pytest.raises(ValueError, match=r"shape \(2, 1, 1\), not \(B, T\)"):
        generate(model, ids, 1, lambda logits: logits[:, :1].long())


def test_an_end_in_the_prompt_ends_nothing():
    model, ids = varied("char_lm"), torch.tensor([[4, 5, 6]])
    end = int(generate(model, ids, 1)[0, -1])
    ids[0, 0] = end
    written = generate(model, ids, 5, end=end)
    assert written.shape[1] > 3
