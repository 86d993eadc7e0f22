"""What an exercise is: what it is tried on, and the mistakes it knows."""

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Any, ClassVar

from classroom.cases import Case, Draw

KINDS = {
    "shape": "predict the shape",
    "line": "fill in the line",
    "mask": "draw the mask",
    "bug": "fix the bug",
    "part": "write a part of the model",
    "ablation": "measure what a change does",
    "explain": "explain",
}

Switches = Mapping[str, Mapping[str, str]]


class Exercise:
    """One exercise. A subclass says what it asks, draws the cases that an
    answer is tried on, and has one implementation with switches.

    `switches` has for each switch its positions, and for each position what
    is wrong with it: "" for the right one. `answer` computes what comes out
    with the switches so set; the setting that gives what a student's code
    gives names the mistakes in it. `axes` names the axes of what goes in and
    comes out, as in "q: B H T D, k: B H S D -> B H T S". An `assignable`
    one has no solution in the book; a `rubric` is for a person who reads
    an explanation. `dependence` asks what depends on what: "v 2 -> 2"
    changes axis 2 of the input v bit by bit, and sees which places along
    axis 2 of the result move.
    """

    chapter: ClassVar[int]
    title: ClassVar[str]
    kind: ClassVar[str]
    minutes: ClassVar[int]
    level: ClassVar[int]
    teaches: ClassVar[str]
    axes: ClassVar[str] = ""
    dependence: ClassVar[str] = ""
    assignable: ClassVar[bool] = False
    tolerance: ClassVar[float] = 1e-4
    rubric: ClassVar[tuple[str, ...]] = ()
    switches: ClassVar[Switches] = {}
    answer: Callable[..., Any]

    @property
    def name(self) -> str:
        """The name of the exercise, and of its answer in the notebook."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    @property
    def inputs(self) -> dict[str, list[str]]:
        """The names of what goes in, each with the letters of its axes."""
        left = self.axes.partition("->")[0].split(",")
        named = (part.partition(":") for part in left if ":" in part)
        return {name.strip(): letters.split() for name, _, letters in named}

    @property
    def output(self) -> list[str]:
        """The letters of the axes of what comes out."""
        return self.axes.partition("->")[2].split()

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Draw what an answer is tried on; once, where nothing is drawn."""
        return [Case()]

    def right(self, case: Case) -> Any:
        """Compute what should come out of a case."""
        return self.answer(case, **flawless(self.switches))


@lru_cache(32)
def draw_cases(exercise: Exercise, seed: int | str) -> tuple[Case, ...]:
    """Draw the cases of a seed, and keep them for a while; who calls an
    answer with them takes copies."""
    return tuple(exercise.cases(Draw(f"{exercise.name} {seed}")))


def flawless(switches: Switches) -> dict[str, str]:
    """The position of each switch in which nothing is wrong."""
    return {
        switch: next(name for name in positions if not positions[name])
        for switch, positions in switches.items()
    }


@cache
def exercises() -> dict[str, Exercise]:
    """List every exercise of the book by its name, chapter by chapter."""
    shelf = importlib.import_module("classroom.exercises")
    found: dict[str, Exercise] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(shelf.__path__)):
        names = vars(importlib.import_module(f"{shelf.__name__}.{module}"))
        for kind in names.values():
            own = getattr(kind, "__module__", "").endswith(f".{module}")
            if own and isinstance(kind, type) and issubclass(kind, Exercise):
                found[kind().name] = kind()
    return found


def exercise(name: str) -> Exercise:
    """Look an exercise up; ValueError for a name that is none."""
    if name not in exercises():
        near = get_close_matches(str(name), exercises(), cutoff=0)
        raise ValueError(
            f"{name=} is no exercise; near are {', '.join(near)}. `python -m "
            "classroom list` lists them all."
        )
    return exercises()[name]
