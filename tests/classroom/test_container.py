"""Gradescope's container, imitated: the autograder's zip, unpacked where it
is there, and a student's code that runs as another user."""

import json
import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from classroom import gradescope
from classroom.assignment import Assignment
from tests.helpers.attacks import ATTACKS, HONEST
from tests.helpers.project import run

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("bwrap") is None,
        reason="only root, with bubblewrap, can imitate a container",
    ),
]
WEEK = Assignment("Week", "autumn", {"dealt_out": 10, "alibi_bias": 20})
GRADE = """\
import sys
sys.path.insert(0, "/autograder/source")
from classroom.gradescope import grade_here
grade_here("/autograder", user="nobody")
"""
SPY = """
import os
from pathlib import Path
source = Path("/autograder/source")
for secret in ("assignment.json", "classroom/exercises"):
    try:
        place = source / secret
        place.read_text() if place.is_file() else os.listdir(place)
        raise RuntimeError(f"{secret} could be read")
    except PermissionError:
        pass
assert os.getuid() != 0
"""


@pytest.fixture
def graded_there(tmp_path):
    """Grade a notebook as the container does, and give results.json."""
    packed = tmp_path / "autograder.zip"
    gradescope.write_autograder(WEEK, packed)
    home = tmp_path / "autograder"
    for name in "source", "submission", "results":
        (home / name).mkdir(parents=True)
    with zipfile.ZipFile(packed) as files:
        files.extractall(home / "source")
    for line in gradescope.SETUP.splitlines():
        if line.startswith("chmod"):
            place = line.replace("/autograder", str(home))
            run(home, "bash", "-c", place).check_returncode()

    def grade(*cells: str) -> dict:
        notebook = {
            "cells": [{"cell_type": "code", "source": c} for c in cells]
        }
        text = json.dumps(notebook)
        (home / "submission" / "work.ipynb").write_text(text)
        (home / "results").chmod(0o700)
        done = run(home, *container(home), sys.executable, "-P", "-c", GRADE)
        assert done.returncode == 0, done.stderr
        return json.loads((home / "results" / "results.json").read_text())

    return grade


def container(home: Path) -> list[str]:
    """A root of our own, in which everybody may read Python."""
    words = ["bwrap", "--dev-bind", "/", "/", "--cap-add", "ALL"]
    words += ["--perms", "755", "--tmpfs", "/root"]
    prefixes = {str(Path(sys.executable).resolve().parents[1]), sys.prefix}
    for place in sorted(p for p in prefixes if p.startswith("/root/")):
        for folder in reversed(Path(place).parents[:-2]):
            words += ["--perms", "755", "--dir", str(folder)]
        words += ["--ro-bind", place, place]
    words += ["--perms", "755", "--tmpfs", "/autograder"]
    return [*words, "--bind", str(home), "/autograder"]


def scores(results: dict) -> dict[str, float]:
    return {test["name"]: test["score"] for test in results["tests"]}


def test_a_notebook_is_graded_and_its_mistakes_are_told(graded_there):
    results = graded_there(HONEST)
    assert scores(results) == {"dealt_out": 10, "alibi_bias": 0}
    assert "not written yet" in results["tests"][1]["output"]


@pytest.mark.parametrize("name", ["a forged result", "exit at once"])
def test_an_attack_changes_no_result(name, graded_there):
    results = graded_there(ATTACKS[name], HONEST)
    assert scores(results) == {"dealt_out": 10, "alibi_bias": 0}


def test_neither_seed_nor_exercises_can_be_read(graded_there):
    assert graded_there(SPY, HONEST)["output"] == ""
