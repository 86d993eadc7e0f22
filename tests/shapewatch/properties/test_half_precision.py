"""What is right in single precision is right in half of it, too."""

import pytest
import torch

from shapewatch.properties import causality
from tests.helpers.legitimate import LEGITIMATE
from tformer_lite import causal_mask, report, running_example, running_model

SOME = ["post-norm", "rotations", "nn.Transformer", "mask, and then sum to 1"]
REST = [
    pytest.param(name, marks=pytest.mark.full)
    for name in LEGITIMATE
    if name not in SOME
]
halves = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])


@pytest.mark.full
@halves
@pytest.mark.parametrize("name", SOME + REST)
def test_a_right_model_is_not_called_broken(name, dtype):
    model, inputs = LEGITIMATE[name]()
    near = [x.to(dtype) if x.is_floating_point() else x for x in inputs]
    found = report(model.to(dtype), *near)
    assert found.ok, found


@pytest.mark.slow
@halves
def test_a_missing_mask_is_found(dtype, monkeypatch):
    everybody = "tformer_lite.model.models.causal_mask"
    model, pair = running_model().to(dtype), running_example()[:2]
    assert causality(model, *pair).holds
    monkeypatch.setattr(
        model, "mask", lambda t, *_: torch.ones_like(causal_mask(t))
    )
    assert causality(model, *pair).holds is False, everybody
