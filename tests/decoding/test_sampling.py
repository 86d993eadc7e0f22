"""Draws are fair: as frequent as their probabilities say."""

from functools import partial

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tformer_lite import Sampler, likeliest

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
    {"temperature": 0.5},
    {"temperature": 3.0},
    {"top_k": 1},
    {"top_k": 3},
    {"top_k": 6},
    {"top_p": 0.4},
    {"top_p": 0.7},
    {"top_p": 0.99},
    {"temperature": 2.0, "top_k": 4, "top_p": 0.8},
    {"top_k": 2, "top_p": 0.65},
]
settings = pytest.mark.parametrize("setting", SETTINGS, ids=str)


@settings
def test_probabilities_are_those_of_the_definitions(setting):
    found = Sampler(**setting).probabilities(LOGITS[None])
    assert_close(found[0], expected(**setting))
    shuffled = torch.randperm(6, generator=generator())
    found = Sampler(**setting).probabilities(LOGITS[None, shuffled])
    assert_close(found.sort().values[0], expected(**setting).sort().values)


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


def test_more_than_all_is_all():
    """Source 002 raised an error here."""
    for top_k in (6, 7, 1000):
        found = Sampler(top_k=top_k).probabilities(LOGITS[None])
        assert_close(found[0], LOGITS.softmax(-1))


def test_top_k_keeps_exactly_so_many_of_equals():
    found = Sampler(top_k=3).probabilities(torch.zeros(2, 5))
    assert found.tolist() == [pytest.approx([1 / 3] * 3 + [0] * 2)] * 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_the_smallest_share_keeps_the_likeliest(dtype):
    logits = LOGITS.to(dtype)[None]
    for top_p in (1e-12, 0.1, 0.5):
        found = Sampler(top_p=top_p).probabilities(logits)
        assert found.tolist() == [[1, 0, 0, 0, 0, 0]]
    assert Sampler(top_k=1)(logits) == likeliest(logits) == 0


def test_the_whole_share_keeps_the_rarest():
    """Rounded sums pass 1 before the last of many tokens."""
    logits = torch.randn(4, 20_000, generator=generator()) * 3
    found = Sampler(top_p=1.0).probabilities(logits)
    assert_close(found, logits.softmax(-1))
    assert (found > 0).all()


@pytest.mark.parametrize("setting", [{}, {"top_k": 3}, {"top_p": 0.9}])
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64]
)
def test_no_temperature_is_too_low_or_too_high(setting, dtype):
    """Divided by so little, or so much, a logit is no finite number."""
    logits = torch.tensor([[70.0, 60, -torch.inf, 0]], dtype=dtype)
    for low in (1e-3, 1e-10, 1e-38, 1e-45, 5e-324):
        found = Sampler(low, **setting).probabilities(logits)
        assert found.tolist() == [[1, 0, 0, 0]]
        equals = Sampler(low).probabilities(torch.zeros(1, 2, dtype=dtype))
        assert equals.tolist() == [[0.5, 0.5]]
    for high in (1e9, 1e300):
        (found,) = Sampler(high, **setting).probabilities(logits)
        assert found.tolist() == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])


def test_the_lowest_temperature_tells_the_smallest_logits_apart():
    """In half precision the temperature alone would be 0, or too coarse."""
    logits = torch.tensor([[1e-5, 0.0]], dtype=torch.float16)
    found = Sampler(1e-6).probabilities(logits)
    assert_close(found[0], (logits.float()[0] / 1e-6).softmax(-1))


def test_each_row_has_its_own_nucleus():
    logits = torch.tensor([[0.0, 9, 0, 0], [1, 1, 1, 1]])
    found = Sampler(top_p=0.6).probabilities(logits)
    assert (found > 0).sum(-1).tolist() == [1, 3]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"temperature": 0}, "choose `likeliest`"),
        ({"temperature": -1.0}, "temperature=-1.0 must be above 0"),
        ({"temperature": float("nan")}, "temperature=nan must be"),
        ({"temperature": float("inf")}, "temperature=inf must be"),
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
