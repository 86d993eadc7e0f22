"""Gradients are the slopes that small steps of the weights measure."""

import torch
from torch import nn
from torch.nn.functional import linear

from shapewatch.properties import exact_gradients
from tests.helpers.strangers import GPT, IDS
from tformer_lite import running_example, running_model


def test_what_cannot_be_measured_is_not_judged():
    assert exact_gradients(lambda x: x, torch.ones(1, 2, 3)).holds is None
    frozen = GPT().requires_grad_(False)
    assert exact_gradients(frozen, IDS).holds is None


class OneSize(nn.Linear):
    """A layer that knows single precision only."""

    def forward(self, x):
        return linear(x, torch.ones(12, 12)) + self.bias


def test_what_knows_one_precision_is_not_judged():
    finding = exact_gradients(OneSize(12, 12), torch.ones(1, 2, 12))
    assert finding.holds is None
    assert finding.says.startswith("No gradient can be drawn in double")


def test_nothing_of_the_model_moves():
    model = running_model()
    before = {n: x.clone() for n, x in model.state_dict().items()}
    assert exact_gradients(model, *running_example()[:2]).holds
    assert all(x.equal(before[n]) for n, x in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
