"""From a model's logits to a text."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from tformer_lite.models import EncoderDecoder


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Run without dropout and gradients; then train again what did."""
    training = [part for part in model.modules() if part.training]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part in training:
            part.training = True


def greedy(
    model: EncoderDecoder, src: Tensor, start: int, end: int, max_len: int
) -> Tensor:
    """Take the likeliest token, again and again: (B, S) -> (B, T).

    Each row begins with `start`, ends with `end` or at `max_len` tokens,
    and is padded after its end. Sutskever et al. (2014), section 3.2, with
    a beam of 1.
    """
    tgt = torch.full_like(src[:, :1], start)
    done = tgt[:, 0] == end
    with evaluating(model):
        memory = model.encode(src)
        while tgt.shape[1] < max_len and not done.all():
            best = model.decode(tgt, memory, src)[:, -1].argmax(-1)
            best = best.masked_fill(done, model.pad)
            tgt = torch.cat((tgt, best[:, None]), dim=1)
            done = done | (best == end)
    return tgt
