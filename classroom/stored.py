"""Homework as notebooks fetch it: what an answer is called with and what
should come, and no code that could be pasted."""

import json
from dataclasses import fields
from functools import cache
from typing import Any

from classroom.exercise import STORED, Exercise, exercises, shelf
from classroom.mistakes import Mistake
from classroom.trials import Trial, draw_trial
from classroom.values import read_case, to_json

SECRET = {"right", "edits", "sizes", "draw", "edges", "names", "make"}


def find_trial(exercise: Exercise, seed: int | str) -> Trial:
    """Draw a trial; or take the one that is stored, where the right code is
    not here. Raises ValueError where it should be another one."""
    if exercise.right:
        return draw_trial(exercise, seed)
    if seed != 0:
        raise ValueError(
            f"{exercise.name} is homework: other numbers than those of check "
            "are drawn in a copy of the book's repository only."
        )
    return read_trial(exercise, stored_trials()[exercise.name])


@cache
def stored_trials() -> dict[str, Any]:
    """Read what is stored of homework."""
    text = (shelf() / STORED).read_text("utf8")
    return dict(json.loads(text)["trials"])


def homework_text() -> str:
    """Write what notebooks fetch of all homework: what is said of each
    exercise, and the trial of seed 0."""
    tables: dict[str, Any] = {}
    trials = {}
    for each in exercises().values():
        if each.assignable:
            told = {f.name: getattr(each, f.name) for f in fields(each)}
            told = {n: x for n, x in told.items() if n not in SECRET}
            number, name = told.pop("chapter"), told.pop("name")
            del told["title"]
            tables.setdefault(f"{number:02}", {})[name] = told
            if not each.rubric:
                trials[name] = trial_json(draw_trial(each, 0))
    return json.dumps({"tables": tables, "trials": trials})


def trial_json(trial: Trial) -> dict[str, Any]:
    """Write a trial, without what its exercise says."""
    return {
        "cases": [to_json(case) for case in trial.cases],
        "probes": [to_json(case) for case in trial.probes],
        "wanted": [to_json(value) for value in trial.wanted],
        "single": [*map(mistake_json, trial.single)],
        "double": [*map(mistake_json, trial.double)],
    }


def mistake_json(mistake: Mistake) -> list[Any]:
    """Write a mistake; six digits tell two of them apart."""
    sentences, prints = mistake
    short = [p and [p[0], [float(f"{x:.6g}") for x in p[1]]] for p in prints]
    return [sentences, short]


def read_trial(exercise: Exercise, data: dict[str, Any]) -> Trial:
    """Read a trial that is stored."""
    cases, probes, wanted = (
        tuple(map(read_case, data[key]))
        for key in ("cases", "probes", "wanted")
    )
    single, double = (
        tuple((tuple(says), tuple(prints)) for says, prints in data[key])
        for key in ("single", "double")
    )
    trial = Trial(exercise, cases, probes, wanted, single)
    trial.double = double
    return trial
