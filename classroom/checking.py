"""What a notebook calls: check("name", answer)."""

from typing import Any

from classroom.exercise import exercise
from classroom.judging import Verdict, tried


def check(name: str, answer: Any, seed: int | str = 0) -> Any:
    """Say whether an answer to an exercise is right, or what is wrong.

    `answer` is what the exercise asks for: a function, a class, a value.
    It is tried on sizes and numbers that `seed` draws. Where it shows
    something, the result is a heatmap of which place of the output (its
    row) depends on which place of the input. Raises ValueError for a name
    that is no exercise.
    """
    verdict = tried(exercise(name), answer, seed)
    print(verdict)
    return picture(verdict)


def picture(verdict: Verdict) -> Any:
    """Draw who depends on whom, where matplotlib is there to do it."""
    if verdict.heard is None or not verdict.heard.seen.any():
        return None
    try:
        from tformer_lite.drawing.attention.heatmaps import heatmap
        from tformer_lite.drawing.surface.palette import AXES
    except ImportError:
        return verdict.heard.seen
    letters = verdict.heard.axes
    named = letters != "T T" and {*letters.split()} <= {*AXES}
    title = "the result (row) depends on the input"
    return heatmap(
        verdict.heard.seen,
        axes=letters if named else "T S",
        kind="weights",
        titles=[title],
    )
