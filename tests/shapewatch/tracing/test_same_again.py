"""A trace gives what the model gives; and it prints the same again."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from shapewatch.tracing import trace

pytestmark = pytest.mark.full


class Mixed(nn.Module):
    """Functions, methods, operators and writing in place, in some order."""

    STEPS = (
        lambda x: torch.relu(x - 0.1),
        lambda x: x.softmax(-1),
        lambda x: x @ x.mT,
        lambda x: x + x.mean(0, keepdim=True),
        lambda x: x[:, ::2].repeat(1, 2),
        lambda x: torch.cat(x.chunk(2, 1), 0),
        lambda x: x.clone().masked_fill_(x > 0.5, -1),
        lambda x: x.clone().mul_(2),
        lambda x: x.flatten().view(x.shape[0], -1).contiguous(),
        lambda x: nn.functional.dropout(x, 0.5),
        lambda x: x + torch.rand_like(x),
        lambda x: torch.where(x > 0, x, -x).sqrt(),
        lambda x: torch.einsum("ij,kj->ik", x, x),
        lambda x: x.sort(dim=1).values,
    )

    def __init__(self, chosen):
        super().__init__()
        self.chosen = chosen

    def forward(self, x):
        for i in self.chosen:
            x = self.STEPS[i](x)
        return x


LAYERS = (
    lambda: nn.Linear(8, 8),
    nn.ReLU,
    nn.Dropout,
    lambda: nn.BatchNorm1d(8),
    lambda: nn.LayerNorm(8),
    lambda: nn.Softmax(dim=-1),
    lambda: nn.TransformerEncoderLayer(8, 2, 16),
    lambda: nn.Linear(7, 8),
)
layers = st.lists(st.sampled_from(LAYERS), max_size=5)
mixtures = st.lists(st.integers(0, len(Mixed.STEPS) - 1), max_size=6)


def outcome(layers, mixture, traced):
    """The result, or the error; what it left in the model; and the random
    state afterwards."""
    torch.manual_seed(0)
    model = nn.Sequential(*(make() for make in layers), Mixed(mixture))
    x = torch.randn(8, 8)
    options = {"dims": {"B": 8}, "axes": ["B same"]}
    try:
        y = trace(model, x, **options).result if traced else model(x)
    except Exception as error:
        y = torch.tensor([hash((type(error), str(error)))])
    left = torch.random.get_rng_state(), *model.state_dict().values()
    return y, y.requires_grad, x, *left


@settings(deadline=None, max_examples=150)
@given(layers, mixtures)
def test_the_traced_result_is_the_untraced_bit_for_bit(layers, mixture):
    traced, plain = (
        outcome(layers, mixture, traced) for traced in (True, False)
    )
    assert traced[1] == plain[1]
    for one, other in zip(traced, plain):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)
