"""What a notebook calls: check("name", answer)."""

from typing import Any

from classroom.exercise import exercise
from classroom.judging import try_answer


def check(name: str, answer: Any, seed: int | str = 0) -> None:
    """Say whether an answer to an exercise is right, or what is wrong.

    `answer` is what the exercise asks for: a function, a class, a value.
    It is tried on sizes and numbers that `seed` draws. Raises ValueError for
    a name that is no exercise.
    """
    print(try_answer(exercise(name), answer, seed))
