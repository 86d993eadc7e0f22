"""The zip that Gradescope asks for: its container is the sandbox.

There, a student's code runs as a user of its own, who may read neither the
exercises' folder nor write the results.
"""

import json
import zipfile
from pathlib import Path
from typing import Any

from classroom.assignment import Assignment, load_assignment
from classroom.grading import Grade, grade
from classroom.sandbox import Sandbox, package_folders
from classroom.submissions import load_submission

STUDENT = "student"
TIME = 60.0  # seconds for one submission
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
AUTOGRADER = """\
#!/usr/bin/env bash
chmod go-rwx /autograder/results /autograder/submission
cd /autograder/source
exec /opt/book/bin/python -P -c 'import sys; sys.path.insert(0, "."); \\
from classroom.gradescope import grade_here; grade_here("/autograder")'
"""
TORCH = "torch>=2.4"


def write_autograder(assignment: Assignment, file: Path) -> None:
    """Write the zip: two scripts, the assignment and our packages."""
    setup = SETUP.format(torch=TORCH, student=STUDENT)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in (
            ("setup.sh", setup),
            ("run_autograder", AUTOGRADER),
        ):
            script = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            script.external_attr = 0o755 << 16
            packed.writestr(script, text)
        packed.writestr("assignment.json", assignment.text())
        for folder in package_folders():
            for each in sorted(folder.rglob("*")):
                if each.is_file() and "__pycache__" not in each.parts:
                    name = each.relative_to(folder.parent).as_posix()
                    packed.write(each, name)


def grade_here(folder: str, user: str = STUDENT) -> None:
    """Grade the one submission that is there, and write results.json."""
    home = Path(folder)
    assignment = load_assignment(home / "source" / "assignment.json")
    files = sorted((home / "submission").rglob("*.ipynb"))
    files += sorted((home / "submission").rglob("*.py"))
    submission = load_submission(home.name, files)
    done = grade(submission, assignment, Sandbox(user=user, seconds=TIME))
    text = json.dumps(results(done))
    (home / "results" / "results.json").write_text(text, "utf8")


def results(done: Grade) -> dict[str, Any]:
    """Write marks as Gradescope reads them: a test an exercise, seen by the
    student after the due date's rules, as Gradescope has them. What a person
    reads has no score yet."""
    tests = []
    for mark in done.marks:
        test: dict[str, Any] = {
            "name": mark.exercise,
            "output": mark.verdict.says,
        }
        test |= {"output_format": "text", "visibility": "visible"}
        if mark.points is not None:
            test |= {"score": mark.points, "max_score": mark.most}
        tests.append(test)
    notes = "\n".join(done.notes)
    return {"output": notes, "output_format": "text", "tests": tests}
