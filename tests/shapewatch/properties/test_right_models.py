"""Right models of others, in many forms: no check calls one broken."""

import pytest
import torch
from torch import nn

from shapewatch.properties import causality
from tests.helpers import strangers
from tests.helpers.strangers import GPT, IDS, PADDED
from tformer_lite import causal_mask, report, running_example, running_model

OF_IDS = {
    "einsum": GPT,
    "soft caps": lambda: GPT(cap=30.0, attention=strangers.Capped),
    "gains of 1 + w, moved": lambda: GPT(norm=strangers.GemmaNorm),
    "norms inside the residual": lambda: GPT(after=True, norm=nn.RMSNorm),
    "cosine": lambda: GPT(attention=strangers.Cosine),
    "a sink": lambda: GPT(attention=strangers.Sink),
    "0 at first": strangers.ZeroAtFirst,
    "tiny weights": lambda: strangers.Shrunk(0.002),
    "several outputs": strangers.Several,
    "bfloat16": lambda: GPT().bfloat16(),
    "no attention": lambda: nn.Sequential(
        nn.Embedding(50, 16), nn.Linear(16, 50)
    ),
}
PAIR = PADDED, IDS[:, :6]
PADDING = {
    "padding on the right": (lambda: GPT(pads=True), [PADDED]),
    "padding on the left": (strangers.FromTheLeft, [strangers.LEFT]),
    "NaN at padding": (strangers.OneBlock, [strangers.LEFT]),
    "three inputs": (
        strangers.WithMasks,
        [PADDED, strangers.MASK, strangers.PLACES],
    ),
    "blocks (memory, x)": (strangers.MemoryFirst, PAIR),
    "the same, unnested": (lambda: strangers.MemoryFirst(False), PAIR),
    "a fast path": (strangers.Encoder, [PADDED]),
}
CASES = {name: (build, [IDS]) for name, build in OF_IDS.items()} | PADDING

UNUSUAL = {
    "NaN at padding": ["padding_invariance"],  # it is counted as words are
    "a sink": ["weight_rows"],
    "the same, unnested": ["finite"],
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_a_right_model_of_a_stranger_raises_no_alarm(name):
    build, inputs = CASES[name]
    found = report(build(), *inputs, pad=1, causal=name != "a fast path")
    assert found.broken == [], found
    assert "could not be checked" not in str(found), found
    unusual = [f.name for f in found.findings if f.level == "unusual"]
    assert unusual == UNUSUAL.get(name, [])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_missing_mask_is_found(dtype, monkeypatch):
    model, pair = running_model().to(dtype), running_example()[:2]
    assert causality(model, *pair).holds
    monkeypatch.setattr(
        model, "mask", lambda t, *_: torch.ones_like(causal_mask(t))
    )
    assert causality(model, *pair).holds is False
