"""An input so small that it can be read, with what an answer gives for it
and what it should."""

from typing import Any

from torch import Tensor

from classroom.cases import Case
from classroom.exercise import Exercise

LETTERS = 320  # letters of an example
DIGITS = 3, 6  # of its numbers: as many as show that two differ


def example_text(exercise: Exercise, case: Case, mine: Any, right: Any) -> str:
    """Write what goes in, what comes out and what should: "" where that is
    long, or has a function or a layer in it."""
    named = dict(zip(exercise.inputs, case.args))
    named |= {**(case.make or {}), **(case.state or {})}
    try:
        given = [f"{k} = {short_text(x)}" for k, x in named.items()]
        pairs = [[short_text(x, n) for x in (mine, right)] for n in DIGITS]
    except ValueError:
        return ""
    came, wanted = pairs[pairs[0][0] == pairs[0][1]]
    text = f"{', '.join(given)}\ngives {came}\nand should give {wanted}"
    fits = len(text) <= LETTERS and came != wanted
    return f"For example, {text}" if fits and given else ""


def short_text(value: Any, digits: int = DIGITS[0]) -> str:
    """Write a value with few digits; ValueError for what is no value."""
    if isinstance(value, Tensor):
        return short_text(value.tolist(), digits)
    if isinstance(value, list | tuple):
        parts = ", ".join(short_text(x, digits) for x in value)
        return f"[{parts}]" if isinstance(value, list) else f"({parts})"
    if isinstance(value, float):
        return f"{value + 0.0:.{digits}g}".replace("inf", "∞")
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    raise ValueError(f"no text for {type(value).__name__}")
