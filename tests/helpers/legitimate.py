"""Models that are right, however they differ: no property may object."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from tests.helpers.small import small
from tformer_lite import (
    DecoderOnly,
    running_example,
    running_model,
    tiny_translator,
    trained_translator,
)
from tformer_lite.gallery import planted

Case = tuple[nn.Module, tuple[Tensor, ...]]


def seeded(build: Callable[..., nn.Module], *numbers) -> nn.Module:
    """A model with the same weights each time, in evaluation mode."""
    torch.manual_seed(0)
    return build(*numbers).eval()


class TorchTransformer(nn.Module):
    """nn.Transformer between embeddings and a head, with all its masks."""

    def __init__(self, vocabulary=1024, channels=12, heads=3, length=8):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, channels)
        self.places = nn.Embedding(length, channels)
        sizes = {"dim_feedforward": 48, "batch_first": True}
        sizes |= {"d_model": channels, "nhead": heads, "norm_first": True}
        layer = nn.TransformerEncoderLayer(**sizes)
        # Said outright, nested tensors give no warning about norm_first.
        encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        sizes |= {"num_decoder_layers": 2}
        self.body = nn.Transformer(custom_encoder=encoder, **sizes)
        self.head = nn.Linear(channels, vocabulary)

    def embed(self, ids):
        return self.tokens(ids) + self.places(torch.arange(ids.shape[1]))

    def forward(self, src, tgt):
        future = torch.ones(tgt.shape[1], tgt.shape[1]).triu(1).bool()
        return self.head(
            self.body(
                self.embed(src),
                self.embed(tgt),
                tgt_mask=future,
                src_key_padding_mask=src == 1,
                tgt_key_padding_mask=tgt == 1,
                memory_key_padding_mask=src == 1,
            )
        )


def masked_afterwards() -> nn.Module:
    """Softmax first, then the mask, then every row made to sum to 1."""
    line = "heads = dot_product_attention(q, k, v, mask, self.dropout)"
    shares = "lambda w: w * mask / (w * mask).sum(-1, True).clamp(1e-9)"
    other = f"heads = dot_product_attention(q, k, v, None, {shares})"
    return planted("attention", line, other).running.running_model()


def running(**choices) -> Case:
    """The running model with another choice of parts, and the example."""
    config = replace(tiny_translator, **choices)
    return running_model(config), running_example()[:2]


def alone(config) -> Case:
    """A decoder-only model, and the example's targets."""
    return seeded(DecoderOnly, config), running_example()[1:2]


LEGITIMATE: dict[str, Callable[[], Case]] = {
    "the running model": running,
    "post-norm": partial(running, residual="post"),
    "RMSNorm": partial(running, norm=nn.RMSNorm),
    "a sliding window": partial(running, window=4),
    "rotations": partial(running, positions="rotary"),
    "shared keys and values": partial(running, n_kv_heads=1),
    "gated, with SiLU": partial(
        running, feed_forward="gated", activation="silu"
    ),
    "mask, and then sum to 1": lambda: (
        masked_afterwards(),
        running_example()[:2],
    ),
    "the trained translator": lambda: (
        trained_translator().model.eval(),
        running_example()[:2],
    ),
    "source 004": lambda: (
        running_model(small("bert_window", vocab_size=1024, pad=1)),
        running_example()[:2],
    ),
    "nn.Transformer": lambda: (
        seeded(TorchTransformer),
        running_example()[:2],
    ),
}
