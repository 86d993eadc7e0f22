"""Right answers, the mistakes that can be made in them, and what shows that
an answer gives what a mistake gives."""

import ast
import contextlib
import copy
import re
import warnings
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from classroom.cases import Case
from classroom.evidence import is_whole, kind
from classroom.exercise import Exercise
from classroom.outcomes import (
    TookTooLong,
    build_answer,
    own_seed,
    time_limit,
)
from classroom.slips import with_slips
from classroom.values import plain_value

HEAD = """\
import math
import torch
import torch.nn.functional as F
from torch import Tensor, nn
"""

LOOP = re.compile(r"^ *while .*(?:\n {8}.*)*", re.M)

Namespace = dict[str, Any]
Spans = list[tuple[int, int, str]]
# Sentences, and what comes of each case: None where that is an error.
Mistake = tuple[tuple[str, ...], tuple[Any, ...]]


@cache
def base_names(text: str) -> Namespace:
    """Give what an exercise's code can use: the notebook's imports, and the
    lines that the exercises of its chapter share."""
    names: Namespace = {"__name__": "exercise"}
    exec(f"{HEAD}\n{text}", names)
    return names


@lru_cache(1024)
def answer_of(exercise: Exercise, edits: tuple = ()) -> Any:
    """Run the code of a right answer, with edits in it, and give the answer.

    Raises ValueError for an edit of what does not stand there once, and for
    code that defines no answer.
    """
    return answer_in(exercise, edited_code(exercise, edits))


def answer_in(exercise: Exercise, code: str) -> Any:
    """Run code, and give the answer that it defines."""
    names = dict(base_names(exercise.names))
    exec(code, names)
    if exercise.name not in names:
        raise ValueError(
            f"{exercise.name}: the right code defines no such name."
        )
    return names[exercise.name]


def edited_code(exercise: Exercise, edits: Sequence[tuple[str, ...]]) -> str:
    """Write mistakes into the right code. Raises ValueError where two want
    to change the same place."""
    code = exercise.right
    spans = sorted(
        span for edit in edits for span in edit_spans(exercise, edit)
    )
    for (_, end, _), (start, *_) in pairwise(spans):
        if start < end:
            raise ValueError(f"{exercise.name}: two edits of one place.")
    for start, end, text in reversed(spans):
        code = code[:start] + text + code[end:]
    return code


def edit_spans(exercise: Exercise, edit: tuple[str, ...]) -> Spans:
    """Find what an edit changes: places in the right code and the new text.

    Raises ValueError where the old text stands there twice, or not at all.
    """
    code, spans = exercise.right, []
    for before, after in zip(edit[:-1:2], edit[1:-1:2]):
        if not before:
            spans.append((len(code), len(code), f"\n{after}\n"))
            continue
        if code.count(before) != 1:
            raise ValueError(
                f"{exercise.name}: {before!r} stands {code.count(before)} "
                "times in the right code, and should once: take another piece."
            )
        start = code.index(before)
        spans.append((start, start + len(before), after))
    return spans


def mistake_of(
    exercise: Exercise, edits: tuple[tuple[str, ...], ...], cases: Any
) -> Mistake | None:
    """Compute what comes of cases with these mistakes: None where they cannot
    be made together."""
    sentences = tuple(dict.fromkeys(edit[-1] for edit in edits))
    try:
        answer = answer_of(exercise, edits)
    except Exception:
        if len(edits) == 1:
            raise
        return None
    return sentences, prints_of(answer, cases)


def prints_of(answer: Any, cases: Sequence[Case]) -> tuple[Any, ...]:
    """Give the fingerprints of what comes of cases."""
    return tuple(print_or_none(answer, *pair) for pair in enumerate(cases))


def slips_of(exercise: Exercise, cases: Sequence[Case]) -> Iterator[Mistake]:
    """Compute what comes of cases with each slip in the right code, but for
    those in a loop, which might then never end."""
    plain = ast.unparse(ast.parse(exercise.right))
    for code, says in with_slips(plain):
        if LOOP.findall(code) != LOOP.findall(plain):
            continue
        with (
            warnings.catch_warnings(action="ignore"),
            contextlib.suppress(Exception, TookTooLong),
            time_limit(1),
        ):
            prints = prints_of(answer_in(exercise, code), cases)
            if any(prints):
                yield (says,), prints


def print_or_none(answer: Any, seed: int, case: Case) -> Any:
    """Give the fingerprint of what comes of a case, None for an error."""
    try:
        return fingerprint(value_of(answer, case, seed))
    except Exception:
        return None


def value_of(answer: Any, case: Case, seed: int = 0) -> Any:
    """Call an answer of our own with copies of what a case has, and random
    numbers of a seed."""
    if not callable(answer):
        return plain_value(answer)
    with own_seed(seed), warnings.catch_warnings(action="ignore"):
        built = build_answer(answer, case)
        return plain_value(built(*copy.deepcopy(case.args)))


def fingerprint(value: Any) -> tuple[str, tuple[float, ...]]:
    """Give a value's form, and four sums over all its numbers: two values
    that have both in common are the same, up to rounding."""
    form, numbers = form_of(value)
    if not numbers:
        return form, ()
    x = torch.cat([each.double().flatten() for each in numbers])
    x = x.nan_to_num(1e30, 1e20, -1e20)
    x = x.sign() * x.abs().log1p()
    waves = torch.arange(1.0, len(x) + 1, dtype=torch.float64)
    roots = torch.tensor([2.0, 3.0, 5.0, 7.0]).double().sqrt()
    return form, tuple(((roots[:, None] * waves).cos() @ x).tolist())


def form_of(value: Any) -> tuple[str, list[Tensor]]:
    """Write what a value is, but for its numbers, and list these."""
    if isinstance(value, tuple | dict):
        parts = value.items() if isinstance(value, dict) else value
        pairs = [form_of(part) for part in parts]
        forms = ", ".join(form for form, _ in pairs)
        return f"({forms})", [x for _, numbers in pairs for x in numbers]
    if type(value) in (bool, int, float):
        value = torch.tensor(value)
    if isinstance(value, Tensor):
        whole = "whole " * is_whole(value)
        return f"{whole}{kind(value)} {[*value.shape]}", [value]
    return repr(value), []


def same_print(mine: Any, other: Any, tolerance: float) -> bool:
    """Tell whether two fingerprints are the same."""
    if mine is None or other is None or mine[0] != other[0]:
        return False
    return all(
        abs(a - b) <= 2 * tolerance + 1e-5 * abs(b)
        for a, b in zip(mine[1], other[1])
    )
