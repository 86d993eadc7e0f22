"""Masks: which inputs say where padding is, by a mark at each position or by
the length of each row."""

import re
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

MASKED = -1e3  # what is added to hide a score is lower
MASK_NAME = re.compile("mask|pad|keep|valid")
LENGTH_NAME = re.compile("len|num_frames")
OTHER_NAME = re.compile(
    "type|segment|position|pos_|_pos|label|loss|causal|masked|global|head"
    "|prefix|prompt"
)
TRUE_AT_PADDING = re.compile("pad|ignore|hid")
OF_TARGET = re.compile("^(decoder|target|tgt|trg)")


def attended(mask: Tensor, length: int) -> Tensor:
    """Which positions some query attends to: (B, ..., T) -> (B, T)."""
    marks = mask > MASKED if is_added(mask) else mask.bool()
    return marks.flatten(1, -2).any(1) if mask.ndim > 2 else marks


def not_hidden(mask: Tensor, length: int) -> Tensor:
    """The same, of a mask that is True where nobody attends."""
    return attended(mask == 0, length)


def before_ends(ends: Tensor, length: int) -> Tensor:
    """Which positions come before the end of their row: (B) -> (B, T)."""
    return torch.arange(length, device=ends.device) < ends[:, None]


def before_shares(shares: Tensor, length: int) -> Tensor:
    """The same, of ends that are shares of the longest row's."""
    return before_ends((shares * length).round(), length)


class SaidPadding(NamedTuple):
    """An input that says where padding is: its place among all that is given,
    the number of the sequence that it is of, and how the words of that, (B,
    T), are read from it."""

    place: int
    which: int
    read: Callable[[Tensor, int], Tensor]

    @property
    def of_lengths(self) -> bool:
        """Whether it has the lengths of rows, (B)."""
        return self.read in (before_ends, before_shares)

    def cut(self, lengths: Tensor, full: int, part: slice) -> Tensor:
        """Give the lengths (B) of a part of rows, which were `full`."""
        start, stop, _ = part.indices(full)
        if self.read is before_ends:
            return lengths.clamp(max=stop) - start
        kept = (lengths * full).round().clamp(max=stop) - start
        return kept / (stop - start)


def paddings_said(
    given: tuple, names: list[str], places: list[int], pad: int | None
) -> list[SaidPadding]:
    """Find what says where padding is: it leaves words in each row, side by
    side, and no id of padding among them; and it is named so, or a mask by
    its type, or the padding is all alike."""
    found, inputs = [], [(n, given[i]) for n, i in enumerate(places)]
    for i, (x, name) in enumerate(zip(given, names)):
        if i in places or not isinstance(x, Tensor) or OTHER_NAME.search(name):
            continue
        ways = [
            (SaidPadding(i, which, read), padding_is_alike(rows, words))
            for which, rows in inputs[:: -1 if OF_TARGET.match(name) else 1]
            for read in readings(x, name, rows)
            if leaves_words(words := read(x, rows.shape[1]), rows, pad)
        ]
        sure = [way for way, alike in ways if alike]
        sure += [way for way, _ in ways if is_named(x, name)]
        found += sure[:1]
    return found


def readings(x: Tensor, name: str, rows: Tensor) -> list[Callable]:
    """List how something may say what is padding in rows, the likeliest
    first."""
    alike = x.numel() and x.shape[:1] == rows.shape[:1]
    if rows.ndim not in (2, 3) or not alike:
        return []
    length = rows.shape[1]
    if x.ndim == 1:
        if x.is_floating_point():
            return [before_shares] if x.min() > 0 and x.max() == 1 else []
        ends = x.dtype != torch.bool and x.min() > 0 and x.max() <= length
        return [before_ends] if ends else []
    if x.shape[-1] != length or is_triangle(x):
        return []
    if is_added(x):
        return [attended]
    marks, ways = bool(((x == 0) | (x == 1)).all()), [attended, not_hidden]
    hides = TRUE_AT_PADDING.search(name) and x.dtype == torch.bool
    return ways[:: -1 if hides else 1] if marks else []


def is_added(x: Tensor) -> bool:
    """Whether a mask is of 0 and of very low numbers, to be added."""
    if not x.is_floating_point():
        return False
    return bool((x < MASKED).any() and ((x < MASKED) | (x == 0)).all())


def is_triangle(x: Tensor) -> bool:
    """Whether a mask (T, T) hides the future, in each text alike."""
    if x.ndim > 2 or x.shape[0] != x.shape[1]:
        return False
    return bool((x == x[0, -1]).equal(torch.ones(x.shape).triu(1) > 0))


def leaves_words(words: Tensor, rows: Tensor, pad: int | None) -> bool:
    """Whether each row has words, side by side, and no padding is one."""
    if words.shape != rows.shape[:2]:
        return False
    starts = words[:, 0] + (words[:, 1:] & ~words[:, :-1]).sum(1)
    known = pad is not None and not rows.is_floating_point()
    hides = not (known and bool(rows[words].eq(pad or 0).any()))
    return hides and bool((starts == 1).all())


def padding_is_alike(rows: Tensor, words: Tensor) -> bool:
    """Whether all positions but the words, at least two, are the same."""
    rest = rows[~words]
    return len(rest) > 1 and bool((rest == rest[0]).all())


def is_named(x: Tensor, name: str) -> bool:
    """Whether something is called lengths or a mask, or is one by its type."""
    by_type = x.ndim > 1 and (x.dtype == torch.bool or is_added(x))
    return by_type or bool((LENGTH_NAME, MASK_NAME)[x.ndim > 1].search(name))
