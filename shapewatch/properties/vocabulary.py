"""The vocabulary: each word is looked up in a row of its own, that learns."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.matrices import flow_of
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
)
from shapewatch.tracing.questions.attention import Flow

COUNTS = {"ne", "eq", "cumsum", "arange", "lt", "gt", "le", "ge", "floordiv"}


class Lookups(TorchFunctionMode):
    """Note which ids are looked up in an embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Tensor] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") == "embedding":
            self.found += [x for x in args[:1] if isinstance(x, Tensor)]
        return function(*args, **(kwargs or {}))


@check
def distinct_words(subject: Subject) -> Verdict:
    """See whether each word of the vocabulary is looked up in a row of its
    own, and each word that is given in one that learns."""
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function has no table of words.")
    every = enumerate(subject.inputs)
    found = [(n, *table) for n, x in every for table in tables(subject, x)]
    if not found:
        raise NotJudgedError("No word is looked up in an embedding.")
    for n, _, path in found:
        if says := frozen(subject, n, path):
            return False, says, subject.inputs[n].float(), UNUSUAL
    n, size, _ = found[-1]
    words = spread(subject, n, size)
    looked = lookups(subject, n, words)
    for ids in looked:
        if says := shared(subject, words, ids):
            return False, says, torch.stack([words, ids]).float(), UNUSUAL
    says = f"Of {size} words, those that were tried have rows of their own."
    return True, says, words.float()


def tables(subject: Subject, x: Tensor) -> list[tuple[int, str]]:
    """Find the embeddings that words are looked up in: how many rows they
    have, and in which module."""
    flow = flow_of(subject)
    return [
        (step.reads[1].shape[0], step.visit.path)
        for i, step in enumerate(flow.steps)
        if flow.names[i] == "embedding" and len(step.reads) == 2
        if step.reads[0].shape == x.shape and of_words(flow, i)
        if not x.is_floating_point() and step.reads[1].shape[0] > x.max()
    ]


def of_words(flow: Flow, i: int) -> bool:
    """Whether what is looked up comes from an input, and is not counted."""
    j = flow.sources[i][0]
    while j is not None:
        if flow.names[j] in COUNTS or not flow.sources[j]:
            return False
        j = flow.sources[j][0]
    return True


def frozen(subject: Subject, n: int, path: str) -> str:
    """Say that a word is given whose row never learns, or ""."""
    model: Any = subject.model
    row = getattr(model.get_submodule(path), "padding_idx", None)
    given = (subject.inputs[n] == row) & subject.real[n]
    if row is None or row == subject.ids[0] or not given.any():
        return ""
    b, t = given.nonzero()[0].tolist()
    known = "give" if subject.ids[0] is None else "and not"
    return (
        f"Row {b}: the word at position {t} is {row}, whose row of {path} "
        f"never learns: padding_idx={row}. If it is padding, {known} "
        f"pad={subject.ids[0] if known == 'and not' else row}; if not, leave "
        "padding_idx out."
    )


def spread(subject: Subject, n: int, size: int) -> Tensor:
    """Put words of the whole vocabulary where words are: (B, T)."""
    x, real = subject.inputs[n], subject.real[n]
    words = torch.linspace(0, size - 1, int(real.sum())).round().long()
    words[words == subject.ids[0]] = size - 1
    made = x.clone()
    made[real] = words.to(x)
    return made


def lookups(subject: Subject, n: int, words: Tensor) -> list[Tensor]:
    """List what is looked up of the shape of other words, where these are
    read; none, where that fails."""
    seen, inputs = Lookups(), [*subject.inputs]
    inputs[n] = words
    try:
        with seen:
            subject.run(*inputs)
    except FailedError:
        return []
    return [x for x in seen.found if x.shape == words.shape]


def shared(subject: Subject, words: Tensor, ids: Tensor) -> str:
    """Say which words are looked up in one row, where most are not, or ""."""
    given = words.flatten().tolist()
    rows: dict[int, int] = {}
    odd = ""
    for word, row in zip(given, ids.flatten().tolist()):
        if rows.setdefault(row, word) != word and word != subject.ids[1]:
            odd = odd or f"Words {rows[row]} and {word} are both looked up "
    moved = (ids - words).flatten()
    if not odd or (moved == moved.mode().values).float().mean() < 0.5:
        return ""  # these are other words, or no words
    return f"{odd}in one row: look at what is done to the ids before."
