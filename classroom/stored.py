"""Homework as notebooks fetch it: what an answer is called with and what
should come, and no code that could be pasted."""

import gzip
import json
import tomllib
import zipfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from classroom.exercise import (
    FOLDERS,
    HOMEWORK,
    TRIALS,
    Exercise,
    exercises,
    statement_files,
    stored_homework,
)
from classroom.mistakes import Mistake
from classroom.trials import Trial, draw_trial
from classroom.values import read_case, to_json

FEW = 3  # sizes that each axis of a stored trial can have
CANDIDATES = 6  # of which the smallest trial is stored
# What a notebook knows of homework.
KEYS: tuple[str, ...] = ("kind", "minutes", "level", "teaches", "axes")
KEYS += "dependence", "without", "tolerance", "rubric", "assignable"


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


def pack_homework(folder: Path) -> list[Path]:
    """Pack the tables of homework, and store a trial of each; list what was
    written. Raises ValueError for a table that stands beside no notebook."""
    tables = sorted(folder.glob("*.toml"))
    known = {file.stem for file in statement_files()}
    strange = [file.name for file in tables if file.stem not in known]
    if strange or not tables:
        raise ValueError(
            f"{folder}: {', '.join(strange) or 'no table'}: each table has "
            "the name of its notebook, such as 07_masks.toml."
        )
    texts = {table.name: table.read_text("utf8") for table in tables}
    names = {name for text in texts.values() for name in tomllib.loads(text)}
    homework = {n for n, x in exercises().items() if x.assignable and x.right}
    if gone := sorted(homework - names):
        raise ValueError(
            f"{folder} has no table of {', '.join(gone)}: these would be "
            f"lost. Unpack {FOLDERS[0] / HOMEWORK} into it first."
        )
    written = [FOLDERS[0] / HOMEWORK, FOLDERS[0] / TRIALS]
    with zipfile.ZipFile(written[0], "w") as files:
        for name, text in texts.items():
            files.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    exercises.cache_clear()
    find_trial.cache_clear()
    written[1].write_bytes(homework_bytes())
    return written


def homework_bytes() -> bytes:
    """Write what notebooks fetch of all homework: what is said of each
    exercise, and the trial of seed 0."""
    own = [each for each in exercises().values() if each.assignable]
    told = {e.name: {key: getattr(e, key) for key in KEYS} for e in own}
    coded = [x for x in own if not x.rubric and x.kind != "result"]
    trials = {each.name: trial_json(small_trial(each)) for each in coded}
    text = json.dumps({"exercises": told, "trials": trials})
    return gzip.compress(text.encode(), mtime=0)


def small_trial(exercise: Exercise) -> Trial:
    """Draw some trials, and give the one with the fewest numbers, without
    the probes."""
    trials = (draw_trial(exercise, n, FEW) for n in range(CANDIDATES))
    least = min(trials, key=numbers_in)
    wanted = tuple(map(six_digits, least.wanted[: len(least.cases)]))
    return replace(least, probes=(), wanted=wanted)


def numbers_in(trial: Trial) -> int:
    """Count the numbers that a trial's inputs and parameters have."""
    values = [x for case in trial.cases for x in case.args]
    values += [x for c in trial.cases for x in (c.state or {}).values()]
    return sum(x.numel() for x in values if isinstance(x, Tensor))


def six_digits(value: Any) -> Any:
    """Round all numbers of a value: a judge allows for more than that."""
    if isinstance(value, tuple):
        return tuple(map(six_digits, value))
    if not isinstance(value, Tensor) or not value.is_floating_point():
        return value
    numbers = [float(f"{x:.6g}") for x in value.flatten().tolist()]
    return torch.tensor(numbers, dtype=value.dtype).view(value.shape)


def trial_json(trial: Trial) -> dict[str, Any]:
    """Write a trial, without what its exercise says."""
    return {
        "cases": [to_json(case) for case in trial.cases],
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
    cases, wanted = (
        tuple(map(read_case, data[key])) for key in ("cases", "wanted")
    )
    single, double = (
        tuple((tuple(says), tuple(prints)) for says, prints in data[key])
        for key in ("single", "double")
    )
    trial = Trial(exercise, cases, (), wanted, single)
    trial.double = double
    return trial
