"""Packing homework: its tables into a zip, where no search finds them, and
for notebooks a trial of each exercise, in few bytes."""

import json
import lzma
import math
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from classroom.cases import Draw
from classroom.exercise import (
    FOLDERS,
    HOMEWORK,
    TRIALS,
    Exercise,
    exercises,
    statement_files,
)
from classroom.stored import find_trial, trial_json
from classroom.trials import Trial, telling_trial
from classroom.values import to_json

FEW = 2  # sizes that each axis of a stored trial can have
TABLE = 997  # numbers, from which all that are stored are taken
DECIMALS = 3  # that they have
CANDIDATES = 5  # trials that tell enough, of which the smallest is stored
# What a notebook knows of homework.
KEYS: tuple[str, ...] = ("kind", "minutes", "level", "teaches", "axes")
KEYS += "without", "tolerance", "rubric", "assignable", "inside"


def pack_homework(folder: Path) -> list[Path]:
    """Pack the tables of homework, and store a trial of each; list what was
    written. Raises ValueError for a table that stands beside no notebook."""
    tables = sorted(folder.glob("*.toml"))
    notebooks = {file.stem for file in statement_files()}
    strange = [file.name for file in tables if file.stem not in notebooks]
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
    exercise, and a trial of those that are judged."""
    homework = [each for each in exercises().values() if each.assignable]
    tables = {e.name: {key: getattr(e, key) for key in KEYS} for e in homework}
    judged = [x for x in homework if not x.rubric and x.kind != "result"]
    trials = {each.name: trial_json(small_trial(each)) for each in judged}
    content = {"exercises": tables, "trials": trials}
    text = json.dumps(content, separators=(",", ":"))
    return lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)


# --- A trial in few bytes -------------------------------------------------


class ShortDraw(Draw):
    """Draws what takes few bytes: small sizes, and numbers of one table, one
    after another from any place on, which compress as no others do."""

    def __init__(self, seed: int | str):
        super().__init__(seed, FEW)
        self.table = Draw("table").normal(TABLE)

    def normal(self, *shape: int, scale: float = 1.0) -> Tensor:
        """Numbers of the table, times a scale."""
        steps = torch.arange(torch.Size(shape).numel())
        numbers = scale * self.table[(self.below(TABLE) + steps) % TABLE]
        rounded = numbers if scale < 0.1 else numbers.round(decimals=DECIMALS)
        return rounded.view(shape)


def small_trial(exercise: Exercise) -> Trial:
    """Of a few trials that tell enough, give the one whose cases take the
    fewest letters."""
    draws = (ShortDraw(f"{exercise.name} {n}") for n in range(CANDIDATES))
    few = [telling_trial(exercise, draw) for draw in draws]
    best = min(few, key=lambda x: len(json.dumps([*map(to_json, x.calls)])))
    return replace(best, wanted=tuple(map(rounded_value, best.wanted)))


def rounded_value(value: Any) -> Any:
    """Round all numbers of a value to five decimals of its largest: a judge
    allows for twice as much."""
    if isinstance(value, tuple):
        return tuple(map(rounded_value, value))
    if not isinstance(value, Tensor) or not value.is_floating_point():
        return value
    sizes = value[value.isfinite()].abs()
    largest = max(1.0, sizes.max().item() if len(sizes) else 0.0)
    decimals = 5 - math.floor(math.log10(largest))
    return value.double().round(decimals=decimals).to(value.dtype)
