"""The zip that Gradescope asks for: its container is the sandbox.

There, a student's code runs as a user of its own, who may read neither the
exercises' folder nor write the results.
"""

import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from classroom.assignment import Assignment, load
from classroom.grading import Graded, Mark, grade
from classroom.sandbox import Sandbox, package_folders
from classroom.submissions import read

STUDENT = "student"
SECONDS = 60.0
SETUP = """\
#!/usr/bin/env bash
set -euo pipefail
apt-get update -qq
apt-get install -y -qq python3-venv
python3 -m venv /opt/book
/opt/book/bin/pip install --quiet '{torch}'
useradd --create-home {student} || true
chown -R root:root /autograder/source
chmod -R go-rwx /autograder/source/classroom/exercises
chmod go-rwx /autograder/source/assignment.json
"""
RUN = """\
#!/usr/bin/env bash
chmod go-rwx /autograder/results /autograder/submission
cd /autograder/source
exec /opt/book/bin/python -P -c 'import sys; sys.path.insert(0, "."); \\
from classroom.gradescope import run; run("/autograder")'
"""
TORCH = "torch>=2.4"


def pack(assignment: Assignment, file: Path) -> None:
    """Write the zip: two scripts, the assignment and our packages."""
    setup = SETUP.format(torch=TORCH, student=STUDENT)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in (("setup.sh", setup), ("run_autograder", RUN)):
            script = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            script.external_attr = 0o755 << 16
            packed.writestr(script, text)
        packed.writestr("assignment.json", assignment.text())
        for folder in package_folders():
            for each in files_in(folder):
                name = each.relative_to(folder.parent).as_posix()
                packed.write(each, name)


def files_in(folder: Path) -> Iterable[Path]:
    """List what grading needs of a package."""
    files = (f for f in folder.rglob("*") if f.is_file())
    return sorted(f for f in files if "__pycache__" not in f.parts)


def run(folder: str, user: str = STUDENT) -> None:
    """Grade the one submission that is there, and write results.json."""
    home = Path(folder)
    assignment = load(home / "source" / "assignment.json")
    files = sorted((home / "submission").rglob("*.ipynb"))
    files += sorted((home / "submission").rglob("*.py"))
    submission = read(home.name, files)
    done = grade(submission, assignment, Sandbox(user=user, seconds=SECONDS))
    text = json.dumps(results(done))
    (home / "results" / "results.json").write_text(text, "utf8")


def results(done: Graded) -> dict[str, Any]:
    """Write marks as Gradescope reads them: a test an exercise, seen by the
    student after the due date's rules, as Gradescope has them."""
    return {
        "output": "\n".join(done.notes),
        "output_format": "text",
        "tests": [as_test(mark) for mark in done.marks],
    }


def as_test(mark: Mark) -> dict[str, Any]:
    """Write one mark as a test; what a person reads has no score yet."""
    about = {
        "name": mark.exercise,
        "output": mark.verdict.says,
        "output_format": "text",
        "visibility": "visible",
    }
    if mark.points is None:
        return about
    return about | {"score": mark.points, "max_score": mark.most}
