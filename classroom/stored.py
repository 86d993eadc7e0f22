"""Homework as notebooks fetch it: what an answer is called with and what
should come, and no code that could be pasted."""

from functools import lru_cache
from typing import Any

from classroom.exercise import FOLDERS, TRIALS, Exercise, stored_homework
from classroom.mistakes import form_of
from classroom.trials import Trial, draw_trial
from classroom.values import read_case, to_json


@lru_cache(64)
def find_trial(exercise: Exercise, seed: int | str) -> Trial:
    """Draw a trial; or take the one that is stored, where the right code is
    not here. Raises ValueError where it should be another one."""
    if exercise.right:
        return draw_trial(exercise, seed)
    file = FOLDERS[0] / TRIALS
    stored = stored_homework(file)["trials"] if file.exists() else {}
    if exercise.name not in stored:
        raise ValueError(
            f"{exercise.name} has no right code: give `right` in its table, "
            "or a fold in its section whose summary begins with A solution."
        )
    if seed != 0:
        raise ValueError(
            f"{exercise.name} is homework: other numbers than those of check "
            "are drawn in a copy of the book's repository only."
        )
    return read_trial(exercise, stored[exercise.name])


def trial_json(trial: Trial) -> dict[str, Any]:
    """Write a trial, without what its exercise says."""
    forms = [form_of(value)[0] for value in trial.wanted]
    return {
        "cases": [to_json(case) for case in trial.cases],
        "small": [to_json(case) for case in trial.small],
        "wanted": [to_json(value) for value in trial.wanted],
        "mistakes": [
            [[says, [*map(print_json, x, forms)]] for says, x in mistakes]
            for mistakes in (trial.single, trial.general)
        ],
    }


def read_trial(exercise: Exercise, data: dict[str, Any]) -> Trial:
    """Read a trial that is stored."""
    cases, wanted = (
        tuple(map(read_case, data[key])) for key in ("cases", "wanted")
    )
    forms = [form_of(value)[0] for value in wanted]
    small = tuple(map(read_case, data["small"]))
    single, general = (
        tuple(
            (tuple(s), tuple(map(read_print, x, forms))) for s, x in mistakes
        )
        for mistakes in data["mistakes"]
    )
    trial = Trial(exercise, cases, wanted, single, small)
    trial.general = general
    return trial


def print_json(fingerprint: Any, right: str) -> list[Any] | None:
    """Write a fingerprint: its form, if that is not the right one, and its
    first sum with six digits. In all cases together that is enough to tell
    two mistakes apart."""
    if fingerprint is None:
        return None
    form, sums = fingerprint
    digits = [float(f"{x:.6g}") for x in sums[:1]]
    return ["" if form == right else form, *digits]


def read_print(data: list[Any] | None, right: str) -> Any:
    """Read a fingerprint."""
    if data is None:
        return None
    form, *sums = data
    return form or right, tuple(sums)
