"""The zip that Gradescope asks for: its container is the sandbox.

There, a student's code runs as a user of its own, who may read neither the
exercises nor the submission's file, nor write the results. Each submission
is tried on numbers of its own, and nothing that is shown of it has any.
"""

import builtins
import hashlib
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from classroom.assignment import (
    Assignment,
    load_assignment,
)
from classroom.exercise import FOLDERS, HOMEWORK
from classroom.grading import Grade, grade, printable_text
from classroom.outcomes import PACKAGES
from classroom.sandbox import Sandbox, SandboxRun, package_folders
from classroom.submissions import code_files, load_submission

STUDENT = 64_999  # a user, and a group, that nobody else is
TIME = 60.0  # seconds for one submission
HERE = Path(__file__).parents[1]
SETUP = """\
#!/usr/bin/env bash
# Ubuntu 22.04 has Python 3.11 beside its own 3.10, which is too old.
set -euo pipefail
apt-get update -qq
for minor in 13 12 11 14; do
  apt-get install -y -qq python3.$minor python3.$minor-venv && break
done
python3.$minor -m venv /opt/book
/opt/book/bin/pip install --quiet --disable-pip-version-check {packages}
"""
AUTOGRADER = """\
#!/usr/bin/env bash
# Of all that lies here, a student's code can read our packages alone.
set -eu
home=${{1:-/autograder}} python=${{2:-/opt/book/bin/python}}
cd "$home"
umask 077
chmod -R go-rwx .
chmod go+x .
chmod go+rx source
chmod -R go+rX {readable}
chmod -R go-rwx source/classroom/exercises
exec "$python" -P -c 'import sys; sys.path.insert(0, sys.argv[1] + "/source")
from classroom.gradescope import grade_here
grade_here(sys.argv[1], int(sys.argv[2]))' "$home" "${{3:-{student}}}"
"""
ALWAYS = ["torch>=2.4", "numpy>=1.26"]
# What an error may be called; every other name is a student's to choose.
KNOWN_ERRORS = {n for n in dir(builtins) if n.endswith(("Error", "Exit"))}
KNOWN_ERRORS |= {"", "TookTooLong", "NotTried", "ForbiddenMeans", "Exception"}
# A text that no cell has could tell what the inputs were.
PUT_TOGETHER = "Code puts the text together: read it in the notebook."


def write_autograder(
    assignment: Assignment, file: Path, packages: str = ""
) -> None:
    """Write the zip: two scripts, the assignment and our packages.

    `packages` are those that students import, beside torch and numpy, such as
    "matplotlib,seaborn". Raises ValueError for other words.
    """
    readable = " ".join(f"source/{name}" for name in PACKAGES)
    install = " ".join(f"'{each}'" for each in requirements(packages))
    scripts = {
        "setup.sh": SETUP.format(packages=install),
        "run_autograder": AUTOGRADER.format(
            readable=readable, student=STUDENT
        ),
    }
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in scripts.items():
            script = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            script.external_attr = 0o755 << 16
            packed.writestr(script, text)
        packed.writestr("assignment.json", assignment.text())
        for name, each in packed_files():
            packed.write(each, name)


def packed_files() -> Iterator[tuple[str, Path]]:
    """List the files of our packages, and of the exercises beside them."""
    for folder in package_folders():
        for each in sorted(folder.rglob("*")):
            if each.is_file() and "__pycache__" not in each.parts:
                yield each.relative_to(folder.parent).as_posix(), each
    for folder in FOLDERS:
        for each in sorted(folder.glob("*.*")):
            if each.suffix in {".toml", ".md"} or each.name == HOMEWORK:
                yield f"classroom/exercises/{each.name}", each


def requirements(packages: str) -> list[str]:
    """Read the names of packages, and add those that are always there.
    Raises ValueError for what is no name."""
    names = [name.strip() for name in packages.split(",")] if packages else []
    for name in names:
        if not re.fullmatch(r"[A-Za-z][\w.-]*", name, re.ASCII):
            raise ValueError(
                f"--packages {packages}: give names with commas between, as "
                "in matplotlib,seaborn."
            )
    return [*ALWAYS, *names]


# --- In the container -----------------------------------------------------


def grade_here(folder: str, user: int = STUDENT) -> None:
    """Grade the one submission that is there, and write results.json; without
    a user, as whoever runs this."""
    home = Path(folder)
    assignment = load_assignment(HERE / "assignment.json")
    files = code_files(home / "submission")
    submission = load_submission("submission", files, assignment.points)
    number = None
    with suppress(OSError, ValueError, AttributeError):
        text = (home / "submission_metadata.json").read_text("utf8")
        number = json.loads(text).get("id")
    origin = [assignment.seed, number, submission.cells]
    seed = hashlib.sha256(json.dumps(origin).encode()).hexdigest()
    sandbox = DiscreetSandbox(not user, user, TIME)
    done = grade(submission, replace(assignment, numbers=seed), sandbox)
    text = json.dumps(results(done), indent=1)
    (home / "results" / "results.json").write_text(text, "utf8")


class DiscreetSandbox(Sandbox):
    """A sandbox of whose errors only the type comes out: the rest could tell
    what the inputs were."""

    told = True  # as long as no run of the submission had any inputs

    def run(self, job: Mapping[str, Any], seconds: float) -> SandboxRun:
        """Run a job, and keep back what its errors say."""
        run = super().run(job, seconds)
        if not self.told:  # a file may remember what an earlier run saw
            run.errors = {n: error_name(x) for n, x in run.errors.items()}
        self.told = self.told and not run.given
        for outcome in chain(*filter(None, run.came.values())):
            if isinstance(outcome, list) and len(outcome) == 4 and outcome[1]:
                outcome[1] = outcome[2] = error_name(outcome[1])
        return run


def error_name(text: Any) -> str:
    """Name the type of an error, where that is no name of a student's."""
    name = str(text).partition(":")[0]
    return name if name in KNOWN_ERRORS else "Exception"


def results(done: Grade) -> dict[str, Any]:
    """Write marks as Gradescope reads them: a test an exercise, seen by the
    student after the due date's rules, as Gradescope has them. What a person
    reads has no score yet."""
    tests, cells = [], done.submission.cells
    for mark in done.marks:
        says = mark.verdict.says
        if mark.verdict.mistakes == ("unreadable",):
            says = "what came out cannot be read."
        if mark.for_a_reader:
            plain = any(mark.text in x for x in map(printable_text, cells))
            says += f"\n\n{mark.text if plain else PUT_TOGETHER}"
        test: dict[str, Any] = {"name": mark.exercise, "output": says}
        test |= {"output_format": "text", "visibility": "visible"}
        if mark.points is not None:
            test |= {"score": mark.points, "max_score": mark.most}
        tests.append(test)
    notes = "\n".join(done.notes)
    about = {"output": notes, "output_format": "text", "score": done.total}
    return about | {"tests": tests}
