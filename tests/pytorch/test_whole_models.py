"""Models, and with them all blocks and attentions, against nn.Transformer with
the same weights. test_attention.py and test_parts.py look at smaller parts."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tests.helpers.agreement import (
    EMPTY_SRC,
    EMPTY_TGT,
    PAD,
    SRC,
    TGT,
    agree_in_values,
    in_both_precisions,
    sent_back,
)
from tests.helpers.pytorch_weights import (
    as_pytorch,
    counterpart,
    gradients,
    hidden_future,
    stirred,
)
from tformer_lite import (
    DecoderOnly,
    EncoderDecoder,
    building_blocks,
    causal_mask,
    char_lm,
    padding_mask,
    paper_base,
    tiny_translator,
)

T = 5

SMALL = {"vocab_size": 10, "src_vocab_size": 11, "max_len": 8, "pad": PAD}
SMALL |= {"d_model": 12, "n_heads": 3, "n_layers": 3, "d_ff": 20}
SMALL |= {"dropout": 0.0}
CONFIGS = {
    "paper_base": replace(paper_base, **SMALL),
    "paper_base, split": replace(paper_base, attention="split", **SMALL),
    "building_blocks": replace(building_blocks, **SMALL),
    "fused": replace(building_blocks, attention="fused", **SMALL),
    "both norms": replace(paper_base, final_norm=True, **SMALL),
    "no biases": replace(tiny_translator, norm="layer", bias=False, **SMALL),
    "gelu": replace(building_blocks, activation="gelu", **SMALL),
    "gelu_tanh": replace(paper_base, activation="gelu_tanh", **SMALL),
}
padded = pytest.mark.parametrize(
    ("src", "tgt"),
    [(SRC, TGT), (EMPTY_SRC, EMPTY_TGT)],
    ids=["padded", "padding alone"],
)


def pair(
    name: str, dtype: torch.dtype
) -> tuple[EncoderDecoder, nn.Transformer]:
    """Our model, and PyTorch's with the weights of our stacks."""
    mine = stirred(EncoderDecoder(CONFIGS[name])).to(dtype)
    return mine, counterpart(mine, CONFIGS[name])


def hidden(src: Tensor, tgt: Tensor) -> dict[str, Tensor]:
    """PyTorch's masks: True = hidden."""
    return {
        "tgt_mask": hidden_future(T),
        "src_key_padding_mask": src == PAD,
        "tgt_key_padding_mask": tgt == PAD,
        "memory_key_padding_mask": src == PAD,
    }


@pytest.mark.slow
@padded
@in_both_precisions
@pytest.mark.parametrize("name", CONFIGS)
def test_a_model_is_nn_transformer_between_embeddings_and_head(
    name, dtype, src, tgt
):
    mine, theirs = pair(name, dtype)
    x, y = mine.src_embedding(src), mine.tgt_embedding(tgt)
    logits = mine.head(theirs(x, y, **hidden(src, tgt)))
    assert logits.shape == (3, 5, 10)
    agree_in_values(mine(src, tgt), logits)


@pytest.mark.slow
@padded
@pytest.mark.parametrize("name", CONFIGS)
def test_the_stacks_send_back_what_nn_transformer_does(name, src, tgt):
    mine, theirs = pair(name, torch.float64)
    options = {"dtype": torch.float64, "requires_grad": True}
    vectors = [torch.randn(*ids.shape, 12, **options) for ids in (SRC, TGT)]
    unseen, seen = padding_mask(src, PAD), padding_mask(tgt, PAD)
    memory = mine.encoder(vectors[0], unseen)
    ours = mine.decoder(vectors[1], memory, causal_mask(T) & seen, unseen)
    outputs = ours, theirs(*vectors, **hidden(src, tgt))
    agree_in_values(*outputs)
    for one in zip(*[sent_back(out, vectors) for out in outputs]):
        agree_in_values(*one)
    weights = dict(theirs.named_parameters())
    for name, sent in as_pytorch(mine, gradients).items():
        other = weights[name].grad
        assert sent.isfinite().all()
        if tgt is TGT or other.isfinite().all():
            agree_in_values(sent, other)


@pytest.mark.parametrize("name", CONFIGS)
def test_dropout_strikes_where_pytorchs_does(name):
    mine = EncoderDecoder(replace(CONFIGS[name], dropout=0.3)).double()
    theirs = counterpart(mine, mine.config)
    x, y = torch.randn(2, 1, T, 12, dtype=torch.float64)
    outputs = []
    for model in mine, theirs:
        torch.manual_seed(1)
        outputs.append(model.decoder(y, model.encoder(x)))
    agree_in_values(*outputs)
    assert not mine.eval().decoder(y, mine.encoder(x)).equal(outputs[0])


@pytest.mark.slow
@in_both_precisions
@pytest.mark.parametrize("residual", ["pre", "post"])
def test_a_language_model_is_pytorchs_encoder_without_the_future(
    residual, dtype
):
    config = replace(char_lm, **SMALL | {"residual": residual})
    mine = stirred(DecoderOnly(config)).to(dtype)
    theirs = counterpart(mine.decoder, config)
    result = theirs(mine.embedding(TGT), mask=hidden_future(T))
    agree_in_values(mine(TGT), mine.head(result))
