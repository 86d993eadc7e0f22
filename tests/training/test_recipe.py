"""Recipes: schedules against their papers and PyTorch's, and refusals."""

import math

import pytest
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR
from torch.testing import assert_close

from tformer_lite import Recipe
from tformer_lite.training.recipe import SCHEDULES

NAMES = sorted(SCHEDULES)


def rates(recipe):
    return [recipe.rate(step) for step in range(1, recipe.steps + 1)]


def theirs(make, steps):
    """The learning rates of a scheduler of PyTorch's, base rate 1."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler, values = make(optimizer), []
    for _ in range(steps):
        values += scheduler.get_last_lr()
        optimizer.step()
        scheduler.step()
    return values


@pytest.mark.slow
@pytest.mark.parametrize(("d_model", "warmup"), [(512, 4000), (12, 1), (7, 9)])
def test_noam_is_the_papers_equation_3(d_model, warmup):
    """lrate = d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)"""
    peak = (d_model * warmup) ** -0.5
    recipe = Recipe(steps=9000, lr=peak, warmup=warmup, schedule="noam")
    paper = [
        d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
        for step in range(1, 9001)
    ]
    assert_close(rates(recipe), paper, rtol=1e-12, atol=0)
    assert max(rates(recipe)) == recipe.rate(warmup) == pytest.approx(peak)


def test_cosine_climbs_and_then_is_pytorchs_on_the_steps_that_are_left():
    recipe = Recipe(steps=30, lr=1.0, warmup=10)
    assert_close(rates(recipe)[:10], [n / 10 for n in range(1, 11)])
    there = theirs(lambda o: CosineAnnealingLR(o, 20), 20)
    assert_close(rates(recipe)[10:], there, rtol=1e-9, atol=1e-12)
    assert recipe.rate(31) == recipe.rate(40) == 0


def test_wsd_climbs_stays_and_falls_in_pytorchs_straight_line():
    recipe = Recipe(steps=30, lr=1.0, warmup=10, schedule="wsd")
    assert_close(rates(recipe)[:10], [n / 10 for n in range(1, 11)])
    assert rates(recipe)[10:20] == [1.0] * 10
    there = theirs(lambda o: LinearLR(o, 1.0, 0.0, total_iters=10), 10)
    assert_close(rates(recipe)[20:], there)
    assert recipe.rate(31) == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("warmup", [0, 1, 5, 12, 40])
def test_a_rate_is_finite_never_negative_and_never_above_lr(name, warmup):
    recipe = Recipe(steps=12, lr=0.3, warmup=warmup, schedule=name)
    for step in range(30):  # from before the first to beyond the last
        assert 0 <= recipe.rate(step) <= 0.3
    assert all(rate > 0 for rate in rates(recipe))


COUNTS = "steps", "batch_size", "every", "patience"
NUMBERS = "lr", "warmup", "weight_decay", "smoothing", "clip"
REFUSED = [
    ("schedule", "linear", "'linear' .* constant, cosine, noam, wsd, or give"),
    *((name, 0, f"{name}=0: every count is 1 or") for name in COUNTS),
    *((name, -1, f"{name}=-1: it is 0 or more") for name in NUMBERS),
    ("lr", math.nan, "lr=nan: it is 0 or more"),
    ("betas", (0.9, 1.0), "each is 0 or more, and below 1"),
    ("betas", (math.nan, 0), "each is 0 or more, and below 1"),
]


@pytest.mark.parametrize(("name", "value", "said"), REFUSED)
def test_what_no_training_can_use_is_refused_by_name(name, value, said):
    with pytest.raises(ValueError, match=said):
        Recipe(**({"steps": 1} | {name: value}))
