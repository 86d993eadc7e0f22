"""Llama and Mistral of Hugging Face, built from these parts."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
)

from tests.helpers.small import build, words
from tformer_lite import Config, DecoderOnly

SIZES = {"vocab_size": 11, "hidden_size": 24, "intermediate_size": 40}
SIZES |= {"num_hidden_layers": 2, "num_attention_heads": 6}
SIZES |= {"num_key_value_heads": 2, "rms_norm_eps": 1e-5}
LLAMA = Config(
    vocab_size=11, max_len=64, d_model=24, d_ff=40, n_layers=2, dropout=0.0,
    n_heads=6, n_kv_heads=2, bias=False, embedding="plain",
    positions="rotary", feed_forward="gated", activation="silu",
    norm=partial(nn.RMSNorm, eps=1e-5),
)  # fmt: skip
NAMES = {
    "embedding.tokens": "model.embed_tokens",
    "decoder.blocks": "model.layers",
    "self_attention.query": "self_attn.q_proj",
    "self_attention.key": "self_attn.k_proj",
    "self_attention.value": "self_attn.v_proj",
    "self_attention.output": "self_attn.o_proj",
    "feed_forward.gate": "mlp.gate_proj",
    "feed_forward.hidden": "mlp.up_proj",
    "feed_forward.output": "mlp.down_proj",
    "norms.0": "input_layernorm",
    "norms.1": "post_attention_layernorm",
    "decoder.norm": "model.norm",
    "head": "lm_head",
}


def theirs_by_our_names(model: nn.Module) -> dict[str, torch.Tensor]:
    """Hugging Face's weights; the channels of queries and keys in pairs."""
    weights = {}
    for name, weight in model.state_dict().items():
        if "q_proj" in name or "k_proj" in name:
            weight = weight.unflatten(0, (-1, 2, 2)).transpose(1, 2)
            weight = weight.flatten(0, 2)
        for mine, theirs in NAMES.items():
            name = name.replace(theirs, mine)
        weights[name] = weight
    return weights


@pytest.mark.parametrize(
    ("kind", "config", "own"),
    [
        (LlamaForCausalLM, LlamaConfig, {}),
        (MistralForCausalLM, MistralConfig, {"sliding_window": 4}),
    ],
)
def test_llama_and_mistral_are_these_parts(kind, config, own):
    theirs = kind(config(**SIZES, head_dim=4, **own)).double().eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, mean=parameter.ndim == 1, std=0.3)
    window = own.get("sliding_window")
    mine = build(DecoderOnly, replace(LLAMA, window=window))
    mine.load_state_dict(theirs_by_our_names(theirs), strict=True)
    ids = words(11, 2, 9)
    with torch.no_grad():
        wanted, logits = theirs(ids).logits, mine(ids)
    assert wanted.std() > 0.5
    # Hugging Face norms and turns in single precision.
    assert_close(logits, wanted, rtol=0, atol=1e-4)
