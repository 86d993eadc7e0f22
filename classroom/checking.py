"""What a notebook calls: check("name", answer)."""

import sys
from typing import Any

from classroom.exercise import Exercise, exercise
from classroom.judging import try_answer


def check(name: str, answer: Any, seed: int | str = 0) -> None:
    """Say whether an answer to an exercise is right, or what is wrong.

    `answer` is what the exercise asks for: a function, a class, a value.
    It is tried on sizes and numbers that `seed` draws. Raises ValueError for
    a name that is no exercise.
    """
    verdict = try_answer(exercise(name), answer, seed)
    print(verdict)
    for part in [] if verdict.right else wrong_parts(exercise(name), answer):
        print(f"  First fix {part}, which is inside it.")


def wrong_parts(each: Exercise, answer: Any) -> list[str]:
    """Name the earlier parts inside an answer that are wrong by themselves,
    as far as they stand in the same notebook."""
    module = sys.modules.get(getattr(answer, "__module__", ""))
    wrong = {
        name
        for name in each.inside
        if hasattr(module, name)
        and not try_answer(exercise(name), getattr(module, name)).right
    }
    return sorted(x for x in wrong if not wrong & {*exercise(x).inside})
