"""The models of transformers, as they come: asked, and found right."""

import pytest
import torch
import transformers
from torch import nn

from shapewatch.properties import padding_invariance
from tformer_lite import report

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
    assert len(judged(found)) == 18
    assert found["relative_positions"].holds is (rotates or None)
    assert found["cached_run"].holds


@pytest.mark.slow
def test_an_encoder_is_found_right():
    found = report(Masked("BertForMaskedLM"), PADDED, pad=1, causal=False)
    assert found.broken == []
    assert len(judged(found)) == 16


@pytest.mark.slow
def test_an_encoder_without_its_mask_hears_padding():
    finding = padding_invariance(made("BertForMaskedLM"), PADDED, pad=1)
    assert finding.holds is False
    assert "first in bert.encoder.layer.0.attention" in finding.says


@pytest.mark.full
@pytest.mark.parametrize("name", list(MODELS)[4:6])
def test_an_encoder_with_a_decoder_is_found_right(name):
    found = report(Masked(name), PADDED, IDS[:, :5], pad=1)
    assert found.broken == []
    assert len(judged(found)) == 20


@pytest.mark.slow
def test_t5_leaves_the_scale_out_and_that_is_all():
    """Its code puts the scale into the start of the query weights."""
    name = "T5ForConditionalGeneration"
    found = report(Masked(name), PADDED, IDS[:, :5], pad=1)
    assert found.broken == []
    assert found["score_scale"].level == "unusual"
    assert "times 1.00, where 1/√4 is 0.50" in found["score_scale"].says
    assert found["score_scale"].says.endswith("smaller by just that.")
