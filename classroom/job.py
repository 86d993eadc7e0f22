"""The other process: a student's cells run here, and never where we judge.

It reads JSON on stdin: the cells and the names of the exercises, and then for
one exercise after another its cases, and right parts to put inside the answer.
It writes a line of JSON for each thing done on what was its stdout: the
place of a cell or a statement that begins, the name of an exercise that
begins, and what came of it. Whoever reads that must trust none of it.
"""

import ast
import codeop
import contextlib
import json
import linecache
import os
import resource
import sys
import time
import types
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import classroom
from classroom import checking, outcomes
from classroom.cells import StandIn, statements
from classroom.outcomes import TookTooLong, run_on_cases, time_limit
from classroom.submissions import LINES
from classroom.values import read_case, to_json

Names = dict[str, Any]
Job = dict[str, Any]
CELL = 1 / 3  # of the run's seconds, for one cell
FILES = 16 * 2**20  # bytes in a file
OPEN = 256
JOB_ERROR = 300  # characters
BELOW = "; below it in the cell, only what defines something was run"
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
IMPORTS = ast.Import | ast.ImportFrom
COMPILER: Any = codeop.Compile()  # remembers what comes from __future__


def run_job() -> None:
    """Do what is handed over, and end without waiting for what is left. An
    exercise's cases come once it begins: no cell and no earlier answer has
    seen them."""
    orders = os.fdopen(os.dup(0), "rb")
    job = json.loads(orders.readline())
    limit(job["memory"], job["seconds"])
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    outcomes.SECONDS = CELL * job["seconds"]
    names = run_cells(job, answers)
    for exercise in job["orders"]:
        if exercise not in job["skip"]:
            tell(answers, {"begins": exercise})
            order = json.loads(orders.readline())
            if order["inside"]:
                put_inside(order, names, job, answers)
            came = answer_outcomes(names, exercise, order["cases"])
            tell(answers, {"of": exercise, "came": came})
    tell(answers, {"ends": True})
    os._exit(0)


def limit(memory: int, seconds: int) -> None:
    """Limit memory, time and files; a process cannot raise its own limits."""
    for kind, most in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_CPU, 2 * seconds + int(time.process_time())),
        (resource.RLIMIT_FSIZE, FILES),
        (resource.RLIMIT_NOFILE, OPEN),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # macOS has not all
            resource.setrlimit(kind, (most, most))


def tell(answers: TextIO, line: Mapping[str, Any]) -> None:
    """Write a line that the judge reads."""
    answers.write(json.dumps(line) + "\n")


def run_cells(job: Job, answers: TextIO) -> Names:
    """Run the cells in a module of their own."""
    classroom.check = checking.check = lambda *words, **options: None
    sys.meta_path.append(StandIn("finder"))
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    names, shell = vars(module), StandIn("shell")
    vars(shell)["run_cell_magic"] = lambda _, line, body: exec(body, names)
    names |= {"display": StandIn("display"), "get_ipython": lambda: shell}
    for file, text in job["modules"]:
        with contextlib.suppress(OSError):
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(text, "utf8")
    sys.path.append(os.getcwd())  # last: no torch.py of a student's is found
    for number, source in enumerate(job["cells"]):
        if number * LINES not in job["skip"]:
            tell(answers, {"begins": number * LINES})
            run_cell(source, number, names, job, answers)
    return names


def put_inside(order: Job, names: Names, job: Job, answers: TextIO) -> None:
    """Put right parts in the place of a student's, whatever these are called,
    and run again what defines something: it may build on them at once."""
    right, fixed = Names(), Names()
    exec(order["code"], right)
    for part, name in order["inside"].items():
        own = names.get(part)
        same = [word for word, x in names.items() if callable(x) and x is own]
        fixed |= dict.fromkeys([part, name, *same], right[part])
    names |= fixed
    for number, source in enumerate(job["cells"]):
        again = job | {"last": True, "fixed": fixed}
        run_cell(source, number, names, again, answers)


def run_cell(
    source: str, number: int, names: Names, job: Job, answers: TextIO
) -> None:
    """Run the statements of a cell; one that fails is left, and no name that
    is fixed changes. In the last run, and once the cell's time is up, only
    those that define something run."""
    file, seconds = f"<code cell {number + 1}>", CELL * job["seconds"]
    lines = source.splitlines(True)
    linecache.cache[file] = len(source), None, lines, file
    parts, ends = [*statements(source)], time.process_time() + seconds
    few = definitions([each for _, each in parts], job["orders"])
    for line, each in parts:
        place, left = number * LINES + line, ends - time.process_time()
        late = job["last"] or left <= 0
        if place in job["skip"] or (late and each not in few):
            continue
        tell(answers, {"begins": place})
        left = max(left, seconds / 10)
        if error := run_statement(each, file, names, left):
            cut = time.process_time() > ends and line < parts[-1][0]
            tell(answers, {"cell": place, "error": error + BELOW * cut})
        names.update(job.get("fixed", {}))


def definitions(
    cell: Sequence[ast.stmt | str], answers: Container[str]
) -> list[ast.stmt | str]:
    """Give those statements of a cell that define or import something; what
    gives a name to a value counts where an answer or a function is beside."""
    kept: list[Any] = [x for x in cell if isinstance(x, FUNCTIONS | IMPORTS)]
    beside = any(isinstance(x, FUNCTIONS) for x in kept)
    for each in cell:
        if isinstance(each, ast.Assign | ast.AnnAssign | ast.AugAssign):
            first = next(ast.iter_child_nodes(each))  # what gets the value
            kept += [each] * (beside or ast.unparse(first) in answers)
    return kept


def run_statement(
    each: ast.stmt | str, file: str, names: Names, seconds: float
) -> str:
    """Run a statement, and give the error that it ends with, or ""."""
    if isinstance(each, str):
        return f"Python cannot read it ({each})"
    try:
        with time_limit(seconds):
            code = COMPILER(ast.Module([each], []), file, "exec")
            exec(code, names)
    except TookTooLong:
        return "the time of its cell was up"
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        text = f"{type(error).__name__}: {str(error)[:JOB_ERROR]}"
        return text.removesuffix(": ")
    return ""


def answer_outcomes(
    names: Mapping[str, Any], name: str, cases: list[Any]
) -> list[Any] | None:
    """Call the answer of one exercise, and give what came of it as JSON."""
    if name not in names:
        return None
    return [
        [to_json(o.value), o.error, o.says, [*o.changed]]
        for o in run_on_cases(names[name], [read_case(case) for case in cases])
    ]


if __name__ == "__main__":
    run_job()
