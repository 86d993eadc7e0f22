"""Every parameter learns, and padding never makes a gradient infinite."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from tests.helpers.small import NAMES, build, kind_of, score, small, words
from tformer_lite import (
    FusedAttention,
    FusedCrossAttention,
    MultiHeadAttention,
    UnbiasedNorm,
)

presets = pytest.mark.parametrize("name", NAMES)
D = 4  # channels per head: 12 channels, 3 heads
# The rows of a bias that belong to keys: each head's D after its query's.
KEYS = {
    "key.bias": slice(None),
    "qkv.bias": [3 * D * h + D + d for h in range(3) for d in range(D)],
    "key_value.bias": [2 * D * h + d for h in range(3) for d in range(D)],
}


def learn(model: nn.Module, src: torch.Tensor, tgt: torch.Tensor) -> float:
    """Fill every gradient, and return the loss."""
    logits = score(model, src, tgt)
    labels = words(11, *tgt.shape, seed=2)
    loss = cross_entropy(logits.flatten(0, 1), labels.flatten())
    loss.backward()
    assert logits.isfinite().all()
    return loss.item()


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
@presets
def test_the_gradient_is_the_slope_of_the_loss(name):
    model = build(kind_of(name), small(name, n_layers=1, activation="gelu"))
    src, tgt = words(10, 4, 8), words(11, 4, 8, seed=1)
    src[1, 5:] = src[2] = tgt[0, 3:] = tgt[3] = small(name).pad
    learn(model, src, tgt)
    way = [torch.randn_like(p) for p in model.parameters()]
    slope = sum((p.grad * w).sum() for p, w in zip(model.parameters(), way))
    losses = []
    for step in (1e-5, -2e-5):
        with torch.no_grad():
            for p, w in zip(model.parameters(), way):
                p += step * w
        losses.append(learn(model, src, tgt))
    assert slope.item() == pytest.approx(
        (losses[0] - losses[1]) / 2e-5, rel=1e-6
    )


def all_padding(name: str) -> tuple:
    """Rows with a source, a target, both, or neither of padding alone."""
    src, tgt = words(10, 4, 6), words(11, 4, 5, seed=1)
    src[:2] = tgt[1:3] = small(name).pad
    return src, tgt


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["layer", "unbiased"])
@pytest.mark.parametrize("residual", ["pre", "post"])
@presets
def test_rows_of_padding_alone_leave_everything_finite(name, residual, norm):
    config = small(name, residual=residual, norm=norm)
    for dtype in (torch.float64, torch.float32):
        model = build(kind_of(name), config).to(dtype)
        learn(model, *all_padding(name))
        for path, parameter in model.named_parameters():
            assert parameter.grad.isfinite().all(), path


@presets
def test_padding_at_the_front_leaves_everything_finite(name):
    model = build(kind_of(name), small(name))
    src, tgt = words(10, 4, 6), words(11, 4, 5, seed=1)
    src[:, 0] = tgt[:, :2] = small(name).pad
    learn(model, src, tgt)
    assert all(p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize(
    "part", [MultiHeadAttention, FusedAttention, FusedCrossAttention]
)
def test_a_row_with_nobody_to_attend_to_gives_zero_heads(part):
    torch.manual_seed(0)
    layer, x = part(12, 3, bias=True), torch.randn(2, 5, 12)
    nn.init.normal_(layer.output.bias)
    mask = torch.ones(2, 1, 5, 5, dtype=torch.bool)
    mask[0] = mask[1, :, 2] = False
    heads = []
    layer.output.register_forward_pre_hook(lambda _, x: heads.append(x[0]))
    sources = (x,) if part is FusedCrossAttention else ()
    mixed = layer(x, *sources, mask=mask)
    dark = ~mask[:, 0].any(-1)
    assert dark.sum() == 6
    assert not heads[0][dark].any()
    assert heads[0][~dark].all()
    assert mixed[dark].equal(layer.output.bias.expand(6, 12))


@presets
def test_real_models_give_zero_heads_for_sources_of_padding(name):
    model = build(kind_of(name), small(name))
    heads = {}
    for path, module in model.named_modules():
        if path.endswith("attention.output"):
            module.register_forward_pre_hook(
                lambda _, x, path=path: heads.update({path: x[0]})
            )
    score(model, *all_padding(name))
    for path, seen in heads.items():
        own = "decoder" in path and "cross" not in path
        dark = [1, 2] if own else [0, 1]
        if hasattr(model, "pad"):
            assert not seen[dark].any(), path
        assert seen[3].all(), path
    assert len(heads) == (6 if hasattr(model, "pad") else 2)


def test_an_even_row_has_a_gradient_in_the_unbiased_norm():
    x = torch.ones(2, 4, requires_grad=True)
    UnbiasedNorm(4)(x)[:, 0].sum().backward()
    assert x.grad.isfinite().all()
