"""From a model's logits to a translation."""

import math

import torch
from torch import Tensor

from tformer_lite.decoding.cache.models import cached
from tformer_lite.model.models import EncoderDecoder


def greedy(
    model: EncoderDecoder, src: Tensor, start: int, end: int, max_len: int
) -> Tensor:
    """Take the likeliest token, again and again: (B, S) -> (B, T).

    Each row begins with `start`, ends with `end` or at `max_len` tokens,
    and is padded after its end. Sutskever et al. (2014), section 3.2, with
    a beam of 1.

    >>> english, nepali = trained_translator().tokenizers
    >>> src = english.encode([english.row("this is not my book.", 8)])
    >>> model = trained_translator().model
    >>> nepali.decode(greedy(model, src, start=2, end=3, max_len=8)[0])
    'यो मेरो किताब होइन ।'
    """
    model = cached(model)
    memory = model.encode(src)
    tgt = torch.full_like(src[:, :1], start)
    done = tgt[:, 0] == end
    while tgt.shape[1] < max_len and not done.all():
        best = model.decode(tgt, memory, src)[:, -1].argmax(-1)
        best = best.masked_fill(done, model.pad)
        tgt = torch.cat((tgt, best[:, None]), dim=1)
        done = done | (best == end)
    return tgt


def beam(
    model: EncoderDecoder,
    src: Tensor,
    start: int,
    end: int,
    max_len: int,
    width: int = 4,
    penalty: float = 0.6,
) -> Tensor:
    """Follow the `width` best beginnings, and give the best row each:
    (B, S) -> (B, T).

    Rows begin, end and are padded as those of `greedy`, which is `width` 1.
    A row's score is the sum of its tokens' log-probabilities, divided by
    `length_penalty`; rows that have ended keep their place until better
    ones take it. Width and penalty are those of Vaswani et al. (2017),
    section 6.1. Raises ValueError for a width below 1.
    """
    if width < 1:
        raise ValueError(f"{width=} keeps no beam: use 1 or more")
    beams = Beams(src, start, end, width, penalty)
    follow(model, src, beams, max_len)
    return beams.best()


def follow(
    model: EncoderDecoder, src: Tensor, beams: "Beams", max_len: int
) -> None:
    """Let beams grow until all have ended, or have `max_len` tokens.

    A search is watched by `Beams` whose `grow` notes what it is given.
    """
    quick = cached(model)
    memory = quick.encode(src).repeat_interleave(beams.width, 0)
    src = src.repeat_interleave(beams.width, 0)
    while beams.tgt.shape[1] < max_len and not beams.done.all():
        logits = quick.decode(beams.tgt, memory, src)[:, -1]
        log_probs = pad_ended(logits.log_softmax(-1), beams.done, model.pad)
        quick.reorder(beams.grow(log_probs))


def pad_ended(log_probs: Tensor, done: Tensor, pad: int) -> Tensor:
    """Let rows that have ended go on with padding, for certain:
    (B, V), (B) -> (B, V)."""
    certain = torch.full_like(log_probs, -math.inf)
    certain[:, pad] = 0
    return torch.where(done[:, None], certain, log_probs)


def length_penalty(length: Tensor, penalty: float) -> Tensor:
    """Weigh rows of so many tokens: (...) -> (...).

    1 for a single token, and growing as length^`penalty`. Wu et al. (2016),
    equation 14.
    """
    return ((5 + length) / 6) ** penalty


class Beams:
    """The rows that a search follows, `width` for each source.

    `tgt` is (B * width, T), each source's best row first; the rest is
    (B * width): `done` tells which rows have ended, `total` is their
    log-probability, `length` counts their tokens after the start.
    """

    def __init__(
        self, src: Tensor, start: int, end: int, width: int, penalty: float
    ):
        self.end, self.width, self.penalty = end, width, penalty
        src = src.repeat_interleave(width, 0)
        self.tgt = torch.full_like(src[:, :1], start)
        # All rows begin alike: only the first of each source counts.
        others = torch.arange(len(src), device=src.device) % width > 0
        self.done = others | (start == end)
        self.total = torch.where(others, -math.inf, 0.0)
        self.length = torch.zeros_like(src[:, 0])

    def grow(self, log_probs: Tensor) -> Tensor:
        """Give the best rows their next token, by its log-probability:
        (B * width, V). Returns which rows they were: (B * width).
        """
        total = self.total[:, None] + log_probs
        length = self.length + ~self.done
        score = total / length_penalty(length, self.penalty)[:, None]
        vocab_size = score.shape[-1]
        best = score.view(-1, self.width * vocab_size).topk(self.width)
        first = torch.arange(0, len(score), self.width, device=score.device)
        rows = (first[:, None] + best.indices // vocab_size).flatten()
        token = (best.indices % vocab_size).flatten()
        self.tgt = torch.cat((self.tgt[rows], token[:, None]), dim=1)
        self.total, self.length = total[rows, token], length[rows]
        self.done = self.done[rows] | (token == self.end)
        return rows

    def best(self) -> Tensor:
        """The best row of each source, as long as the longest: (B, T)."""
        longest = int(self.length[:: self.width].max())
        return self.tgt[:: self.width, : 1 + longest]
