"""The norm and the activations against PyTorch's."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.helpers.agreement import (
    ADDED_UP,
    agree_in_values,
    in_both_precisions,
    ripple,
)
from tests.helpers.pytorch_weights import stirred
from tformer_lite import LayerNorm, gelu, gelu_tanh

B, T, C = 3, 5, 12


@in_both_precisions
@pytest.mark.parametrize("eps", [1e-5, 1e-12, 0.1])
@pytest.mark.parametrize("size", [1.0, 30.0])
def test_the_norm_and_its_gradients_are_pytorchs(eps, size, dtype):
    mine = stirred(LayerNorm(C, eps)).to(dtype)
    theirs = nn.LayerNorm(C, eps, dtype=dtype)
    theirs.load_state_dict(mine.state_dict())
    x = size * torch.randn(B, T, C, dtype=dtype)
    x.requires_grad_()
    outputs = mine(x), theirs(x)
    agree_in_values(*outputs)
    for pair in zip(
        *[
            torch.autograd.grad(out, [x, *norm.parameters()], ripple(out))
            for out, norm in zip(outputs, (mine, theirs))
        ]
    ):
        agree_in_values(*pair, ADDED_UP)


@pytest.mark.parametrize("mean", [-10.0, 1000.0, 1e5])
def test_a_mean_far_from_zero_costs_the_norm_its_own_rounding_alone(mean):
    x = mean + torch.randn(B, T, 512)
    exact = nn.LayerNorm(512, dtype=torch.float64)(x.double())
    agree_in_values(LayerNorm(512).double()(x.double()), exact)
    allowed = 2 * abs(mean) * torch.finfo(torch.float32).eps
    for norm in (LayerNorm(512), nn.LayerNorm(512)):
        assert (norm(x) - exact).abs().max() < allowed


@in_both_precisions
@pytest.mark.parametrize(
    ("mine", "approximate"), [(gelu, "none"), (gelu_tanh, "tanh")]
)
def test_gelu_and_its_gradient_are_pytorchs(mine, approximate, dtype):
    x = torch.linspace(-12, 12, 4001, dtype=dtype, requires_grad=True)
    theirs = functional.gelu(x, approximate=approximate)
    outputs = mine(x), theirs
    agree_in_values(*outputs)
    back = [torch.autograd.grad(out.sum(), x)[0] for out in outputs]
    agree_in_values(*back, ADDED_UP)
