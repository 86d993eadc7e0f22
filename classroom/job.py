"""The other process: a student's cells run here, and never where we judge.

It reads a job on stdin, as JSON: the cells, and for each exercise the cases.
It writes a line of JSON for each thing done on what was its stdout: the
number of a cell that begins, the name of an exercise that begins, and what
came of it. Whoever reads that must trust none of it.
"""

import contextlib
import json
import linecache
import os
import re
import resource
import sys
import time
import types
from collections.abc import Mapping
from typing import Any, TextIO

import classroom
from classroom import checking, outcomes
from classroom.outcomes import TookTooLong, run_on_cases, time_limit
from classroom.values import read_case, to_json

CELL = 1 / 3  # of the run's seconds, for one cell
FILES = 16 * 2**20  # bytes in a file
OPEN = 256
JOB_ERROR = 300  # characters
# Lines that are IPython's and not Python's: %time, !pip, files = !ls.
MAGIC = re.compile(r"^([ \t]*)(\w+ *= *(?=[!%]))?[!%?].*$", re.MULTILINE)


def run_job() -> None:
    """Run one job, and end without waiting for anything left behind."""
    job = json.load(sys.stdin)
    limit(job["memory"], job["seconds"])
    told = os.fdopen(os.dup(1), "w", buffering=1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    outcomes.SECONDS = CELL * job["seconds"]
    names = run_cells(job, told)
    for exercise, cases in job["cases"].items():
        if exercise not in job["skip"]:
            tell(told, {"begins": exercise})
            came = answer_outcomes(names, exercise, cases)
            tell(told, {"of": exercise, "came": came})
    tell(told, {"ends": True})
    os._exit(0)


def limit(memory: int, seconds: int) -> None:
    """Limit memory, time and files; a process cannot raise its own limits."""
    for kind, most in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_CPU, seconds + int(time.process_time()) + 1),
        (resource.RLIMIT_FSIZE, FILES),
        (resource.RLIMIT_NOFILE, OPEN),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # macOS has not all
            resource.setrlimit(kind, (most, most))


def tell(told: TextIO, line: Mapping[str, Any]) -> None:
    """Write a line that the judge reads."""
    told.write(json.dumps(line) + "\n")
    told.flush()


def run_cells(job: Mapping[str, Any], told: TextIO) -> dict[str, Any]:
    """Run the cells in a module of their own; one that fails is left."""
    classroom.check = checking.check = lambda *words, **options: None
    module = types.ModuleType("student")
    sys.modules["student"] = module
    names = vars(module) | {"display": print, "__builtins__": __builtins__}
    for number, source in enumerate(job["cells"]):
        if number in job["skip"]:
            continue
        tell(told, {"begins": number})
        if error := run_cell(source, number, names, CELL * job["seconds"]):
            tell(told, {"cell": number, "error": error})
    return names


def run_cell(
    source: str, number: int, names: dict[str, Any], seconds: float
) -> str:
    """Run a cell, and give the error that it ends with, or ""."""
    try:
        code = compile_cell(source, f"<cell {number}>")
        with time_limit(seconds):
            exec(code, names)
    except TookTooLong as late:
        return str(late)
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        return f"{type(error).__name__}: {str(error)[:JOB_ERROR]}"
    return ""


def compile_cell(source: str, file: str) -> types.CodeType:
    """Compile a cell; if Python cannot read it, with lines that do nothing,
    or make a name None, in the place of IPython's."""

    def without(line: re.Match[str]) -> str:
        return f"{line[1]}{line[2]}None" if line[2] else f"{line[1]}pass"

    for text in (source, MAGIC.sub(without, source)):
        linecache.cache[file] = len(text), None, text.splitlines(True), file
        try:
            return compile(f"{text}\n", file, "exec")
        except SyntaxError as error:
            wrong = error
    raise wrong


def answer_outcomes(
    names: Mapping[str, Any], name: str, cases: list[Any]
) -> list[Any] | None:
    """Call the answer of one exercise, and give what came of it as JSON."""
    if name not in names:
        return None
    return [
        [to_json(o.value), o.error, o.says, [*o.changed], o.printed]
        for o in run_on_cases(names[name], [read_case(case) for case in cases])
    ]


if __name__ == "__main__":
    run_job()
