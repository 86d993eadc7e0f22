"""Right models of strangers raise no alarm; what is their own is unusual."""

import warnings

import pytest
import torch
from torch import nn

from tests.helpers.strangers import (
    GPT,
    IDS,
    LEFT,
    MASK,
    PADDED,
    PLACES,
    Capped,
    Cosine,
    Encoder,
    FromTheLeft,
    GemmaNorm,
    MemoryFirst,
    OneBlock,
    Several,
    Shrunk,
    Sink,
    WithMasks,
    ZeroAtFirst,
    by_jit,
)
from tformer_lite import report

CASES = {
    "einsum": (GPT, (IDS,), {}),
    "soft caps": (lambda: GPT(cap=30.0, attention=Capped), (IDS,), {}),
    "gains of 1 + w, moved": (lambda: GPT(norm=GemmaNorm), (IDS,), {}),
    "norms inside the residual": (
        lambda: GPT(after=True, norm=nn.RMSNorm),
        (IDS,),
        {},
    ),
    "cosine": (lambda: GPT(attention=Cosine), (IDS,), {}),
    "a sink": (lambda: GPT(attention=Sink), (IDS,), {}),
    "padding on the right": (lambda: GPT(pads=True), (PADDED,), {"pad": 1}),
    "padding on the left": (FromTheLeft, (LEFT,), {"pad": 1}),
    "NaN at padding": (OneBlock, (LEFT,), {"pad": 1}),
    "0 at first": (ZeroAtFirst, (IDS,), {}),
    "tiny weights": (lambda: Shrunk(0.002), (IDS,), {}),
    "several outputs": (Several, (IDS,), {}),
    "three inputs": (WithMasks, (PADDED, MASK, PLACES), {"pad": 1}),
    "blocks (memory, x)": (MemoryFirst, (PADDED, IDS[:, :6]), {"pad": 1}),
    "the same, unnested": (
        lambda: MemoryFirst(False),
        (PADDED, IDS[:, :6]),
        {"pad": 1},
    ),
    "a fast path": (Encoder, (PADDED,), {"pad": 1, "causal": False}),
    "bfloat16": (lambda: GPT().bfloat16(), (IDS,), {}),
    "no attention": (
        lambda: nn.Sequential(nn.Embedding(50, 16), nn.Linear(16, 50)),
        (IDS,),
        {},
    ),
}

UNUSUAL = {
    "a sink": ["weight_rows"],
    "the same, unnested": ["finite"],
    "0 at first": ["past", "order_sensitivity", "live_parameters"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_right_model_of_a_stranger_raises_no_alarm(name):
    build, inputs, known = CASES[name]
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = report(build(), *inputs, **known)
    assert found.broken == [], found
    assert "could not be asked" not in str(found), found
    unusual = [f.name for f in found.findings if f.level == "unusual"]
    assert unusual == UNUSUAL.get(name, [])


@pytest.mark.filterwarnings("ignore")
def test_a_traced_model_has_its_weights_afterwards():
    model = by_jit(GPT(), IDS)
    before = [p.clone() for p in model.parameters()]
    report(model, IDS)
    pairs = zip(before, model.parameters())
    assert all(was.equal(now) for was, now in pairs)
