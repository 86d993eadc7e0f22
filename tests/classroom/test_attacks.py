"""Submissions that try to get points in another way than by an answer.

None gets more than the honest notebook would, which has one right answer and
one wrong; each has its row, and each run ends in its time. What they see of
the machine is nothing but our packages, without an exercise.
"""

import os
import shutil
import socket
import time

import pytest

from classroom import sandbox as module
from classroom.assignment import Assignment, student_notebook
from classroom.exercise import exercises
from classroom.grading import grade
from classroom.sandbox import (
    NO_BUBBLEWRAP,
    Sandbox,
    check_bubblewrap,
    python_folders,
)
from classroom.submissions import Submission
from tests.helpers.answers import HEAD, solutions, written_answers
from tests.helpers.attacks import (
    ALONE,
    ANSWERS,
    ATTACKS,
    HONEST,
    TOGETHER,
    WITHOUT_PROCESS,
)
from tests.helpers.project import ROOT
from tests.helpers.sandboxes import needs_bubblewrap

pytestmark = needs_bubblewrap
WEEK = Assignment("Week", "autumn", {"dealt_out": 10, "alibi_bias": 20})
SECONDS = 6
MOST = 10  # points of the honest part


@pytest.fixture(scope="module")
def sandbox():
    return Sandbox(seconds=SECONDS)


@pytest.mark.full
def test_every_right_answer_is_right_in_the_sandbox_too():
    """Each in a cell of its own; solutions use what their notebook imports."""
    answers = [*written_answers(), *solutions()]
    right = {each.exercise: each.code for each in answers if each.right}
    coded = [
        name
        for name, each in exercises().items()
        if not each.rubric and not each.points  # see test_course.py
    ]
    cells = [HEAD, *(right[name] for name in coded)]
    term = Assignment("All", "spring", dict.fromkeys(coded, 1))
    done = grade(Submission("all", tuple(cells)), term, Sandbox(seconds=300))
    wrong = [mark for mark in done.marks if not mark.verdict.right]
    assert not wrong, (wrong, done.notes)


@pytest.mark.full
def test_a_notebook_that_was_left_as_it_is_is_worth_nothing():
    everything = Assignment("All", "spring", dict.fromkeys(exercises(), 1))
    notebook = student_notebook(everything)
    code = [c["source"] for c in notebook["cells"] if "outputs" in c]
    done = grade(Submission("none", (*code,)), everything, Sandbox(seconds=99))
    assert [(m.exercise, m.points) for m in done.marks if m.points != 0] == []


@pytest.mark.full
@pytest.mark.parametrize("name", [*ALONE, *ANSWERS])
def test_an_attack_is_worth_no_more_than_the_honest_part(name, sandbox):
    begun = time.monotonic()
    cells = (ATTACKS[name], HONEST)[:: -1 if name in ANSWERS else 1]
    done = grade(Submission(name, cells), WEEK, sandbox)
    assert done.total <= MOST
    assert len(done.marks) == 2
    assert time.monotonic() - begun < SECONDS + 60  # torch is imported
    if name not in WITHOUT_PROCESS:
        assert done.total == MOST, done.notes


@pytest.mark.full
def test_attacks_after_which_a_process_goes_on_gain_nothing_together():
    cells = [*(ATTACKS[name] for name in TOGETHER), HONEST]
    done = grade(Submission("all", (*cells,)), WEEK, Sandbox(seconds=60))
    assert len(done.marks) == 2
    assert done.total == MOST, done.notes


@pytest.mark.full
def test_a_right_answer_among_endless_cells_still_counts(sandbox):
    for bad in ("while True: pass", "import os\nos._exit(1)"):
        cells = (bad,) * 12 + (HONEST,) + (bad,) * 12
        assert grade(Submission("lost", cells), WEEK, sandbox).total == MOST


# Each cell would fail, and so be named, if it got what it is after. The first
# looks for what lies outside, the second for what the repository has beside
# our packages (and Python, in an environment inside it), the third for
# exercises.
OUTSIDE = """
import os, socket
found = [p for p in PLACES if os.path.exists(p)]
if found: raise RuntimeError(f"seen: {found}")
for place in (FOLDER, ROOT, os.path.expanduser("~root")):
    try:
        open(place + "/left_behind", "w").write("x")
        raise RuntimeError("written: " + place)
    except OSError:
        pass
try:
    socket.create_connection(SERVER, timeout=2)
    raise RuntimeError("a network")
except OSError:
    pass
"""
REPOSITORY = """
import os, sys
there = {*os.listdir(ROOT)}
python = os.path.relpath(sys.prefix, ROOT).split("/")[0]
ours = {"shapewatch", "tformer_lite", "explorer", "gallery", "classroom"}
assert there - {python} == ours
for name in there:
    try:
        open(os.path.join(ROOT, name, "left_behind"), "w").close()
        raise RuntimeError("written: " + name)
    except OSError:
        pass
"""
SHELVES = """
import pathlib, classroom
home = pathlib.Path(classroom.__file__).parents[1]
for shelf in home / "classroom/exercises", home / "chapters/exercises":
    assert list(shelf.rglob("*")) == []
from classroom.exercise import exercises
assert exercises() == {}
"""


@pytest.mark.slow
def test_a_student_s_code_sees_our_packages_without_exercises_and_no_more(
    sandbox, tmp_path
):
    secret = tmp_path / "secret"
    secret.write_text("kept")
    outside = "tests", "chapters", "chapters/exercises", "book"
    places = [str(secret), *(str(ROOT / name) for name in outside)]
    assert all(map(os.path.exists, places))
    places.append(str(ROOT / ".git"))  # an unpacked sdist has none
    with socket.create_server(("127.0.0.1", 0)) as server:
        names = {"PLACES": places, "FOLDER": str(tmp_path), "ROOT": str(ROOT)}
        names["SERVER"] = server.getsockname()
        told = "\n".join(f"{name} = {x!r}" for name, x in names.items())
        cells = (told, OUTSIDE, REPOSITORY, SHELVES, HONEST)
        done = grade(Submission("spy", cells), WEEK, sandbox)
    assert done.notes == ()
    assert done.total == MOST
    assert secret.read_text() == "kept"
    assert not [*ROOT.glob("left_behind"), *ROOT.glob("*/left_behind")]


@pytest.mark.full
@pytest.mark.parametrize("copy", ["classroom", "tformer_lite/classroom"])
def test_those_of_an_installed_copy_cannot_either(
    copy, sandbox, tmp_path, monkeypatch
):
    """Of one that this Python does not find, but that lies in what is
    bound: the Python that an environment was made of has its packages, too.
    """
    shelf = tmp_path / "lib" / "python3" / "site-packages" / copy / "exercises"
    shelf.mkdir(parents=True)
    (shelf / "chapter_05.py").write_text("secret")
    bound = [*python_folders(), str(tmp_path)]
    monkeypatch.setattr(module, "python_folders", lambda: bound)
    look = f"import os\nassert os.listdir({str(shelf)!r}) == []"
    done = grade(Submission("look", (look, HONEST)), WEEK, sandbox)
    assert done.notes == ()
    assert (shelf / "chapter_05.py").read_text() == "secret"


@pytest.mark.full
def test_without_bubblewrap_nothing_runs_and_it_is_said_what_to_install(
    monkeypatch,
):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    check_bubblewrap.cache_clear()
    with pytest.raises(RuntimeError, match="apt install bubblewrap"):
        Sandbox()
    check_bubblewrap.cache_clear()
    assert "--trust-submissions" in NO_BUBBLEWRAP
    mine = grade(Submission("me", (HONEST,)), WEEK, Sandbox(trusted=True))
    assert mine.total == MOST
