"""Bad input, refused with the values and the rule that they break."""

from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

MASK_AXES = "B (the batch)", "H (the heads)", "T (the queries)", "S (the keys)"


def check_batch(ids: Tensor) -> None:
    """Raise unless `ids` is a batch of rows of whole numbers."""
    if ids.ndim != 2 or 0 in ids.shape:
        raise ValueError(
            f"ids have shape {tuple(ids.shape)}, not (B, T): rows of at least "
            "one id. A single row becomes a batch with ids[None]."
        )
    if ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"ids are {ids.dtype}: make them integers, ids.long()")


def check_size(t: int) -> None:
    """Raise ValueError for fewer than no positions."""
    if t < 0:
        raise ValueError(f"{t} positions are not possible: give 0 or more.")


def check_kind(config: Any, kind: type, *names: str) -> None:
    """Raise ValueError for a switch (bool) that is neither True nor False, or
    a size (int) that is neither a whole number from 1 up nor None."""
    rule = "give True or False." if kind is bool else "every size is 1, 2, …"
    known = (False, True) if kind is bool else range(1, 2**63)
    for name in names:
        value = getattr(config, name)
        is_fit = type(value) is kind and value in known
        if not is_fit and not (kind is int and value is None):
            raise ValueError(f"{name}={value!r}: {rule}")


def check_letters(x: Tensor, axes: str) -> None:
    """Raise ValueError unless x has the axes that a step is written for."""
    if x.ndim != len(axes.split()):
        raise ValueError(
            f"x has shape {tuple(x.shape)}, not ({', '.join(axes.split())}): "
            "give it every axis. One example becomes a batch with x[None]."
        )


def check_pair(src: Tensor, tgt: Tensor) -> None:
    """Raise unless `src` and `tgt` are batches of as many rows of ids."""
    check_batch(src)
    check_batch(tgt)
    rows, wanted = tgt.shape[0], src.shape[0]  # len would fix an export's B
    if rows != wanted:
        raise ValueError(
            f"src has a batch of {wanted}, tgt of {rows}: each source needs "
            "its target."
        )


def check_ids(ids: Tensor, vocab_size: int) -> None:
    """Raise ValueError unless every id is one of the vocabulary's.

    On "meta", and where a program is made (torch.compile, torch.export,
    vmap), ids have no values to look at.
    """
    check_batch(ids)
    if torch.compiler.is_compiling():
        return
    outside = (ids < 0) | (ids >= vocab_size)
    with suppress(RuntimeError):  # PyTorch's word for "no values"
        if outside.any():
            raise ValueError(
                f"id {ids[outside][0].item()} is outside the vocabulary: "
                f"ids run from 0 to {vocab_size - 1}."
            )


def known_pad(pad: int, *vocab_sizes: int) -> int:
    """Give the id of padding; ValueError where a vocabulary lacks it."""
    if not 0 <= pad < min(vocab_sizes):
        raise ValueError(
            f"{pad=} is outside a vocabulary: ids run from 0 to "
            f"{min(vocab_sizes) - 1}. Give the Config an id of both sides."
        )
    return pad


def check_length(t: int, max_len: int) -> None:
    """Raise ValueError for a sequence that is too long."""
    if t > max_len:
        raise ValueError(
            f"a sequence of {t} positions is longer than {max_len=}: "
            "shorten it, or build with a larger max_len."
        )


def check_heads(d_model: int, n_heads: int) -> None:
    """Raise ValueError unless the channels divide among the heads."""
    if n_heads < 1 or d_model % n_heads:
        raise ValueError(
            f"{d_model=} is not divisible by {n_heads=}: every head gets the "
            "same number of channels. Choose an n_heads that divides d_model."
        )


def check_pairs(d: int) -> None:
    """Raise ValueError unless the channels of a head come in pairs."""
    if d % 2:
        raise ValueError(
            f"a head of {d} channels leaves one without a partner: rotary "
            "positions rotate channels in pairs. Choose an n_heads that makes "
            "d_model / n_heads even."
        )


def check_groups(n_heads: int, n_kv_heads: int) -> None:
    """Raise ValueError unless the query heads divide into the groups."""
    if n_kv_heads < 1 or n_heads % n_kv_heads:
        raise ValueError(
            f"{n_heads=} is not divisible by {n_kv_heads=}: every key head "
            "serves the same number of query heads. Choose an n_kv_heads "
            "that divides n_heads."
        )


def check_form(form: str, said: object) -> None:
    """Raise ValueError for a block of another form than a config says."""
    if isinstance(said, str) and said != form:
        raise ValueError(
            f"the config says residual={said!r}, and this block is {form}-norm"
            ": build BLOCKS[config.residual], or replace the config's choice."
        )


def check_alone(source: Tensor | None, why: str) -> None:
    """Raise ValueError for a source: x can attend to itself alone."""
    if source is not None:
        raise ValueError(
            f"an attention layer without a source got one: {why}. Give the "
            "Config another cross_attention, such as 'split'."
        )


def check_fit(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> None:
    """Raise unless queries, keys and values fit together, and the mask."""
    expected = (*k.shape[:-2], *q.shape[-2:-1], *k.shape[-1:])
    if tuple(q.shape) != expected or k.shape[:-1] != v.shape[:-1]:
        raise ValueError(
            f"q {tuple(q.shape)}, k {tuple(k.shape)} and v {tuple(v.shape)} "
            "do not fit: q and k share their last axis (D), k and v the one "
            "before (S), and all three every axis in front of those."
        )
    if not k.shape[-2]:
        raise ValueError(
            f"k {tuple(k.shape)} has no key to attend to: give at least one "
            "(S). A mask may hide it."
        )
    if mask is not None:
        check_mask(mask, (*q.shape[:-1], k.shape[-2]))


def check_mask(mask: Tensor, scores: tuple[int, ...]) -> None:
    """Raise unless `mask` is boolean and fits the scores axis by axis.

    The last axis, S, has the scores' size: a mask hides keys. Any other has
    that size, or 1.
    """
    check_axes(mask, scores)
    if mask.shape[-1] != scores[-1]:
        raise ValueError(
            f"axis {mask.ndim - 1} of the mask, {MASK_AXES[-1]}, has size 1, "
            f"the scores have {scores[-1]} there: a mask hides keys, so it "
            "needs a value for each of them."
        )


def check_axes(mask: Tensor, scores: tuple[int, ...]) -> None:
    """Raise unless `mask` is boolean and each axis has a fitting size or 1.

    Axes are never added or shifted in silence.
    """
    want, got = tuple(scores), tuple(mask.shape)
    if mask.dtype != torch.bool:
        raise TypeError(
            f"the mask is {mask.dtype}, not torch.bool. True means 'may "
            "attend'; from numbers, write mask != 0."
        )
    if len(want) != len(got):
        raise ValueError(
            f"the mask has {len(got)} axes {got}, the scores have "
            f"{len(want)} {want}: give the mask every axis, of size 1 where "
            "one value serves all."
        )
    front = MASK_AXES[:2] if len(want) == 4 else ("in front",) * len(want[:-2])
    for axis, name in enumerate((*front, *MASK_AXES[2:])):
        if got[axis] not in (1, want[axis]):
            raise ValueError(
                f"axis {axis} of the mask, {name}, has size {got[axis]}, the "
                f"scores have {want[axis]} there: mask {got}, scores {want}."
            )
