"""What a KV cache saves: writing with one, against reading all again.

A model of 4 layers, 128 channels and 4 heads writes so many tokens after a
single one. All ways write the same text.

With a cache, attention is one call of PyTorch's; the model's own is written
out. What such a call saves is not the cache's merit, so a third way reads all
again with it, too.
"""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from benchmarks.attentions import OneCall
from benchmarks.rounds import TRYING, rows_in_turns
from tformer_lite import Config, DecoderOnly, generate

SIZES = Config(
    vocab_size=65,
    max_len=520,
    d_model=128,
    n_heads=4,
    n_layers=4,
    d_ff=512,
    positions="learned",
)
LENGTHS = (4, 8) if TRYING else (64, 128, 256, 512)


def write_without(model: DecoderOnly, ids: Tensor, n: int) -> Tensor:
    """Write n tokens, reading all again for each."""
    for _ in range(n):
        best = model(ids)[:, -1].argmax(-1)
        ids = torch.cat((ids, best[:, None]), dim=1)
    return ids


def writing_rows(n: int) -> list[dict]:
    """Write n tokens with a cache, and in two ways without."""
    torch.manual_seed(0)
    model = DecoderOnly(SIZES).eval()
    one_call = DecoderOnly(replace(SIZES, attention=OneCall)).eval()
    one_call.load_state_dict(model.state_dict())
    ids = torch.zeros(1, 1, dtype=torch.long)
    runs = {
        "ours: with a cache": partial(generate, model, ids, n),
        "the same, reading all again": partial(write_without, model, ids, n),
        "the same, in one call": partial(write_without, one_call, ids, n),
    }
    texts = [run() for run in runs.values()]
    assert all(text.equal(texts[0]) for text in texts)
    return rows_in_turns(runs)
