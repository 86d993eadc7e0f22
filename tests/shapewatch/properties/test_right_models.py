"""Right models of others, in many forms: no check calls one broken."""

import warnings

import pytest
import torch
import transformers
from torch import nn

from shapewatch.properties import causality
from tests.helpers.legitimate import LEGITIMATE
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
)
from tformer_lite import causal_mask, report, running_example, running_model

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
    "NaN at padding": ["padding_invariance"],  # it is counted as words are
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


transformers.utils.logging.set_verbosity_error()
IDS = torch.randint(2, 50, (2, 7), generator=torch.Generator().manual_seed(0))
PADDED = IDS.clone()
PADDED[1, 4:] = 1
SIZES = {"vocab_size": 50, "pad_token_id": 1, "bos_token_id": 2}
SIZES |= {"eos_token_id": 3, "decoder_start_token_id": 2}
LLAMA = {"hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 2}
LLAMA |= {"num_attention_heads": 3, "num_key_value_heads": 1}
BART = {"d_model": 12, "max_position_embeddings": 16}
for part in ("encoder", "decoder"):
    BART |= {f"{part}_layers": 2, f"{part}_attention_heads": 3}
    BART |= {f"{part}_ffn_dim": 24}
MODELS = {
    "GPT2LMHeadModel": {"n_positions": 16, "n_embd": 12, "n_head": 3},
    "LlamaForCausalLM": LLAMA,
    "MistralForCausalLM": LLAMA | {"sliding_window": 3},
    "BertForMaskedLM": LLAMA | {"max_position_embeddings": 16},
    "BartForConditionalGeneration": BART,
    "MarianMTModel": BART,
    "T5ForConditionalGeneration": {"d_model": 12, "d_kv": 4, "d_ff": 24}
    | {"num_layers": 2, "num_heads": 3},
}


def made(name: str) -> nn.Module:
    """A small model with random weights."""
    kind = getattr(transformers, name)
    torch.manual_seed(0)
    return kind(kind.config_class(**SIZES | MODELS[name])).eval()


class Masked(nn.Module):
    """The model with the masks that it wants to be handed."""

    def __init__(self, name: str):
        super().__init__()
        self.model = made(name)

    def forward(self, *ids):
        mask = (ids[0] != 1).long()
        named = {"decoder_input_ids": ids[1]} if ids[1:] else {}
        return self.model(input_ids=ids[0], attention_mask=mask, **named)


def judged(found) -> set[str]:
    return {f.name for f in found.findings if f.holds is not None}


@pytest.mark.full
@pytest.mark.parametrize("name", list(MODELS)[:3])
def test_a_decoder_is_found_right(name):
    found = report(made(name), IDS)
    assert found.broken == []
    rotates = name != "GPT2LMHeadModel"
    assert len(judged(found)) == 16 + rotates
    assert found["relative_positions"].holds is (rotates or None)
    assert found["cached_run"].holds


@pytest.mark.slow
def test_an_encoder_is_found_right():
    found = report(Masked("BertForMaskedLM"), PADDED, pad=1, causal=False)
    assert found.broken == []
    assert len(judged(found)) == 15


@pytest.mark.full
@pytest.mark.parametrize("name", list(MODELS)[4:6])
def test_an_encoder_with_a_decoder_is_found_right(name):
    found = report(Masked(name), PADDED, IDS[:, :5], pad=1)
    assert found.broken == []
    assert len(judged(found)) == 17


@pytest.mark.slow
def test_t5_leaves_the_scale_out_and_that_is_all():
    """Its code puts the scale into the start of the query weights."""
    name = "T5ForConditionalGeneration"
    found = report(Masked(name), PADDED, IDS[:, :5], pad=1)
    assert found.broken == []
    assert found["score_scale"].level == "unusual"
    assert "times 1.00, where 1/√4 is 0.50" in found["score_scale"].says
    assert found["score_scale"].says.endswith("smaller by just that.")
