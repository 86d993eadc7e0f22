"""Every parameter learns, and padding never makes a gradient infinite."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from tests.helpers.small import build, kind_of, presets, score, small, words
from tformer_lite import UnbiasedNorm

D = 4  # channels per head: 12 channels, 3 heads
# The rows of a bias that belong to keys: each head's D after its query's.
KEYS = {
    "key.bias": slice(None),
    "qkv.bias": [3 * D * h + D + d for h in range(3) for d in range(D)],
    "key_value.bias": [2 * D * h + d for h in range(3) for d in range(D)],
}


def learn(model: nn.Module, src: torch.Tensor, tgt: torch.Tensor) -> None:
    """Fill every gradient."""
    logits = score(model, src, tgt)
    assert logits.isfinite().all()
    labels = words(11, *tgt.shape, seed=2)
    cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()


def gradients(name: str, bias: bool, seed: int) -> dict[str, torch.Tensor]:
    """The absolute gradient of each parameter, for full rows of words."""
    config = small(name, bias=bias, head_bias=bias)
    model = build(kind_of(name), config, seed)
    learn(model, words(10, 24, 8), words(10, 24, 8, seed=1))
    named = model.named_parameters()
    return {path: parameter.grad.abs() for path, parameter in named}


@pytest.mark.slow
@pytest.mark.parametrize("bias", [True, False])
@presets
def test_no_parameter_is_dead_but_those_that_cannot_matter(name, bias):
    # A unit behind a ReLU may be dead for one draw, but not for each of 4.
    draws = [gradients(name, bias, seed) for seed in range(4)]
    for path in draws[0]:
        most = torch.stack([draw[path] for draw in draws]).amax(0)
        idle = torch.zeros_like(most, dtype=torch.bool)
        if path.endswith("tokens.weight"):
            idle[:2] = idle[10:] = True  # ids that do not occur
        for ending, rows in KEYS.items():
            if path.endswith(ending):
                # The same is added to every score of a row.
                idle[rows] = True
        assert (most[idle] < 1e-12).all(), path
        assert (most[~idle] > 1e-7).all(), path


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["layer", "unbiased"])
@pytest.mark.parametrize("residual", ["pre", "post"])
@presets
def test_padding_alone_or_in_front_leaves_everything_finite(
    name, residual, norm
):
    config = small(name, residual=residual, norm=norm)
    src, tgt = words(10, 5, 6), words(11, 5, 5, seed=1)
    src[:2] = tgt[1:3] = src[4, 0] = tgt[4, :2] = config.pad
    for dtype in (torch.float64, torch.float32):
        model = build(kind_of(name), config).to(dtype)
        learn(model, src, tgt)
        for path, parameter in model.named_parameters():
            assert parameter.grad.isfinite().all(), path


def test_an_even_row_has_a_gradient_in_the_unbiased_norm():
    x = torch.ones(2, 4, requires_grad=True)
    UnbiasedNorm(4)(x)[:, 0].sum().backward()
    assert x.grad.isfinite().all()
