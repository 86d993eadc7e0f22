"""Our parts for what source 003 runs in its codeblocks, and their inputs."""

from dataclasses import replace
from functools import cache, partial

import torch

from tformer_lite import (
    EncoderDecoder,
    LayerNorm,
    causal_mask,
    dot_product_attention,
    paper_base,
    sinusoids,
)


def words_003():
    return torch.randint(0, 100, (1, 200))


def x(channels=512):
    return torch.randn(1, 200, channels)


@cache
def ours() -> dict[int, tuple]:
    """For each codeblock our part, and inputs for it.

    The source prints the means of its norms, so ours is written out too.
    """
    torch.manual_seed(0)
    model = EncoderDecoder(replace(paper_base, norm=LayerNorm))
    reader, writer = model.encoder.blocks[0], model.decoder.blocks[0]
    attend = partial(dot_product_attention, mask=causal_mask(200)[0])
    return {
        4: (model.src_embedding.tokens, words_003()),
        5: (model.tgt_embedding.tokens, words_003()),
        7: (lambda: sinusoids(200, 512),),
        9: (attend, x(64), x(64), x(64)),
        12: (reader.self_attention, x()),
        15: (writer.cross_attention, x(), x()),
        17: (reader.feed_forward, x()),
        19: (reader.norms[0], x()),
        21: (reader, x()),
        23: (writer, x(), x()),
        26: (model, words_003(), words_003()),
    }
