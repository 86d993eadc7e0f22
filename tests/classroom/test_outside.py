"""What a student's code sees of the machine that it runs on: nothing that is
not in our packages, and no exercise."""

import os
import socket

import pytest

from classroom.assignment import Assignment
from classroom.grading import grade
from classroom.sandbox import (
    Sandbox,
)
from classroom.submissions import Submission
from tests.helpers.attacks import HONEST
from tests.helpers.project import ROOT
from tests.helpers.sandboxes import needs_bubblewrap

pytestmark = [pytest.mark.slow, needs_bubblewrap]
WEEK = Assignment("Week", "autumn", {"dealt_out": 10, "alibi_bias": 20})
SECONDS = 6
MOST = 10  # points of the honest part


@pytest.fixture(scope="module")
def sandbox():
    return Sandbox(seconds=SECONDS)


def test_what_is_outside_is_neither_seen_nor_changed(sandbox, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("kept")
    outside = "tests", "chapters", "chapters/exercises", "book"
    places = [str(secret), *(str(ROOT / name) for name in outside)]
    assert all(map(os.path.exists, places))
    places.append(str(ROOT / ".git"))  # an unpacked sdist has none
    server = socket.create_server(("127.0.0.1", 0))
    spy = f"""
import os, socket
found = [p for p in {places} if os.path.exists(p)]
if found: raise RuntimeError(f"seen: {{found}}")
for place in ({str(tmp_path)!r}, {str(ROOT)!r}, os.path.expanduser("~root")):
    try:
        open(place + "/left_behind", "w").write("x")
        raise RuntimeError("written: " + place)
    except OSError:
        pass
try:
    socket.create_connection({server.getsockname()}, timeout=2)
    raise RuntimeError("a network")
except OSError:
    pass
"""
    with server:
        done = grade(Submission("spy", (spy, HONEST)), WEEK, sandbox)
    assert done.notes == ()
    assert done.total == MOST
    assert secret.read_text() == "kept"
    assert not (ROOT / "left_behind").exists()


def test_of_the_repository_our_packages_alone_are_there(sandbox):
    """And Python, where it is a virtual environment in the repository."""
    look = f"""
import os, sys
there = {{*os.listdir({str(ROOT)!r})}}
python = os.path.relpath(sys.prefix, {str(ROOT)!r}).split("/")[0]
assert there - {{python}} == {{"shapewatch", "tformer_lite", "classroom"}}
for name in there:
    try:
        open(os.path.join({str(ROOT)!r}, name, "left_behind"), "w").close()
        raise RuntimeError("written: " + name)
    except OSError:
        pass
"""
    done = grade(Submission("look", (look, HONEST)), WEEK, sandbox)
    assert done.notes == ()
    assert not [*ROOT.glob("*/left_behind")]


def test_the_exercises_cannot_be_read_where_a_student_s_code_runs(sandbox):
    look = """
import pathlib, classroom
shelf = pathlib.Path(classroom.__file__).parent / "exercises"
assert shelf.is_dir()
assert list(shelf.rglob("*")) == []
from classroom.exercise import exercises
assert exercises() == {}
"""
    done = grade(Submission("look", (look, HONEST)), WEEK, sandbox)
    assert done.notes == ()
