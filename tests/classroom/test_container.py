"""Gradescope's container, imitated: the autograder's zip, unpacked where it
is there, and a student's code that runs as another user."""

import json
import os
import re
import shutil
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from classroom import gradescope, sandbox
from classroom.assignment import Assignment
from classroom.grading import Grade
from tests.helpers.attacks import ATTACKS, HONEST
from tests.helpers.project import ROOT, run

pytestmark = pytest.mark.full
imitated = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("bwrap") is None,
    reason="only root, with bubblewrap, can imitate a container",
)
WEEK = Assignment("Week", "autumn", {"dealt_out": 10, "alibi_bias": 20})
HALF = {"dealt_out": 10, "alibi_bias": 0}
SPY = """
import os, pathlib
assert os.getuid() == os.getgid() == 64999, (os.getuid(), os.getgid())
assert os.getgroups() in ([], [64999]), os.getgroups()
assert os.umask(0) == 0o077
found = []
places = "/autograder", "/autograder/source", "/autograder/results"
for folder, folders, files in (x for p in places for x in os.walk(p)):
    for name in files:
        place = os.path.join(folder, name)
        if os.access(place, os.R_OK): found.append(place)
        if os.access(place, os.W_OK): found.append("writable: " + place)
    if os.access(folder, os.W_OK): found.append("writable: " + folder)
ours = "classroom", "tformer_lite", "explorer", "gallery", "shapewatch"
ours = tuple(f"/autograder/source/{x}/" for x in ours)
bad = [x for x in found if not x.startswith(ours) or "/exercises" in x]
assert found and not bad, bad[:9]
"""


class Container:
    """A folder that stands for /autograder, with the zip unpacked in it."""

    def __init__(self, home: Path, assignment: Assignment):
        self.home = home
        for name in "source", "submission", "results":
            (home / name).mkdir(parents=True)
        packed = home.parent / "autograder.zip"
        gradescope.write_autograder(assignment, packed)
        with zipfile.ZipFile(packed) as files:
            files.extractall(home / "source")

    def hand_in(self, *cells: str, number: int = 1) -> None:
        """Put a notebook where Gradescope does, with what it says of it."""
        code = [{"cell_type": "code", "source": c} for c in cells]
        notebook = json.dumps({"cells": code})
        (self.home / "submission" / "work.ipynb").write_text(notebook)
        metadata = self.home / "submission_metadata.json"
        metadata.write_text(json.dumps({"id": number, "users": []}))

    def grade(self, *cells: str) -> dict:
        """Grade a notebook as the container does; give results.json."""
        self.hand_in(*cells)
        return self.results()

    def results(self) -> dict:
        """Run the script on what was handed in."""
        script = "/autograder/source/run_autograder"
        words = ["bash", script, "/autograder", sys.executable]
        outside = ["env", "-u", "PYTHONPATH", *container(self.home)]
        done = run(self.home, *outside, *words)
        assert done.returncode == 0, done.stderr
        return json.loads((self.home / "results/results.json").read_text())


@pytest.fixture
def there(tmp_path):
    return Container(tmp_path / "autograder", WEEK)


def container(home: Path) -> list[str]:
    """A root of our own, in which everybody may read Python."""
    words = ["bwrap", "--dev-bind", "/", "/", "--cap-add", "ALL"]
    words += ["--perms", "755", "--tmpfs", top := os.path.expanduser("~root")]
    prefixes = {str(Path(sys.executable).resolve().parents[1]), sys.prefix}
    for place in sorted(p for p in prefixes if p.startswith(f"{top}/")):
        for folder in reversed(Path(place).parents[:-2]):
            words += ["--perms", "755", "--dir", str(folder)]
        words += ["--ro-bind", place, place]
    words += ["--perms", "755", "--tmpfs", "/autograder"]
    return [*words, "--bind", str(home), "/autograder"]


def scores(results: dict) -> dict[str, float]:
    return {test["name"]: test["score"] for test in results["tests"]}


def shown(results: dict) -> str:
    """All that a student can read."""
    texts = [results["output"], *(t["output"] for t in results["tests"])]
    return "\n".join(texts)


@imitated
def test_a_notebook_is_graded_and_its_mistakes_are_told(there):
    results = there.grade(HONEST)
    assert scores(results) == HALF
    assert results["score"] == 10
    assert "not written yet" in results["tests"][1]["output"]


NEW = [*ATTACKS][[*ATTACKS].index("lines before the real ones") :]
ALONE = "exit at once", "a process left behind", "forks", *NEW[:1]
ALONE += ("orphans that multiply",)
TOGETHER = [x for x in NEW if x not in (*ALONE, "a torch of my own")]


@imitated
@pytest.mark.parametrize("name", ALONE)
def test_an_attack_changes_no_result(name, there):
    results = there.grade(ATTACKS[name], HONEST)
    assert scores(results)["alibi_bias"] == 0
    kept = (there.home / "results" / "results.json").read_text()
    assert json.loads(kept) == results


@imitated
def test_attacks_that_harm_nobody_find_nothing(there):
    """Each would fail if it got what it is after."""
    cells = [ATTACKS[x] for x in (*TOGETHER, "a forged result")]
    results = there.grade(SPY, *cells, HONEST, ATTACKS["a torch of my own"])
    assert scores(results) == HALF
    assert "RuntimeError" not in results["output"]
    assert "AssertionError" not in results["output"]
    assert "cell 1:" not in results["output"]


@imitated
def test_a_link_in_a_submission_is_not_followed(there):
    submission = there.home / "submission"
    (submission / "a.py").symlink_to("/autograder/source/assignment.json")
    (submission / "b").symlink_to("/autograder/source/classroom/exercises")
    results = there.results()
    assert results["score"] == 0
    assert "link" in results["output"] or "no notebook" in results["output"]


# --- What can be learned of the numbers -----------------------------------

LEAKS = {
    "dealt_out": "raise ValueError(args)",
    "talking_heads": 'raise type(f"N{args}", (Exception,), {})',
    "alibi_bias": 'raise type("ValueError", (Exception,), {})(args)',
    "capped_scores": """
    import linecache
    linecache.cache["<mine>"] = 9, None, [f"f({args!r})"], "<mine>"
    exec(compile("1/0", "<mine>", "exec"), {})""",
    "decoder_mask": 'raise type("ForbiddenMeans", (Exception,), {})(args)',
    "sink_mask": """
    import os, warnings
    warnings.warn(repr(args)); print(args)
    open("SEEN", "w").write(repr(args))
    os._exit(0)""",
}
READER = """
import os
if os.path.exists("SEEN"):
    raise ValueError(open("SEEN").read())
"""
MARKS = re.compile(r"tensor|\d\.\d{3}|array\(|shape=")


@imitated
def test_no_error_of_a_student_s_carries_the_inputs_out(tmp_path):
    """Not the last one, either, which tells them to a cell of a later run."""
    there = Container(
        tmp_path / "autograder",
        Assignment("Leaks", "autumn", dict.fromkeys(LEAKS, 1)),
    )
    cells = [f"def {n}(*args):\n    {LEAKS[n].strip()}\n" for n in LEAKS]
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)  # a student is somebody else there
        seen = Path(folder, "seen")
        texts = [x.replace("SEEN", str(seen)) for x in (READER, *cells)]
        results = there.grade(*texts)
        assert seen.exists()
    left_out = "code cell 1, line 3 was left out: ValueError"
    assert left_out in results["output"].splitlines()
    assert results["score"] == 0
    assert len(results["tests"]) == len(LEAKS)
    assert not MARKS.search(shown(results)), shown(results)


@imitated
def test_an_error_is_named_and_what_it_says_is_not(there):
    line = "x.view(1, 2, 3, 4, 5, 6, 7)"
    results = there.grade(
        "print(undefined)", f"def dealt_out(x, n):\n    return {line}\n"
    )
    assert results["tests"][0]["output"] == "it stopped with RuntimeError."
    assert "NameError: name 'undefined'" in results["output"]


def test_each_submission_has_numbers_of_its_own_and_again_the_same(
    there, monkeypatch
):
    """So what others were tried on helps nobody."""
    draws = []

    def grade(submission, assignment, sandbox):
        draws.append(assignment.draw)
        return Grade(submission, ())

    monkeypatch.setattr(gradescope, "grade", grade)
    monkeypatch.setattr(gradescope, "HERE", there.home / "source")
    for cell, number in ("x = 1", 1), ("x = 1", 1), ("x = 1", 2), ("x = 2", 1):
        there.hand_in(cell, number=number)
        gradescope.grade_here(str(there.home), 0)
    assert draws[0] == draws[1]
    assert len({WEEK.draw, *draws}) == 4


# --- Before the zip is uploaded -------------------------------------------


def test_what_students_import_is_installed_too():
    names = gradescope.requirements("matplotlib, none-such")
    assert names == ["torch>=2.4", "numpy>=1.26", "matplotlib", "none-such"]


@pytest.mark.parametrize(
    "words",
    ["a b", "a;b", "$(ls)", "-r x", "a>=1", "'a'", "a,,b", "a @ b", "é"],
)
def test_other_words_are_no_packages(words):
    with pytest.raises(ValueError, match="--packages"):
        gradescope.requirements(words)


# --- What fits ------------------------------------------------------------


def test_the_exercises_of_a_repository_are_hidden_wherever_it_lies():
    folders = sandbox.exercise_folders()
    assert not [x for x in folders if not Path(x).is_dir()]
    inside = [ROOT / x for x in ("classroom/exercises", "chapters", "tests")]
    roots = [*sandbox.python_folders(), *sandbox.SYSTEM]
    for place in filter(Path.is_dir, inside):
        bound = any(place.is_relative_to(root) for root in roots)
        assert (str(place) in folders) == bound
