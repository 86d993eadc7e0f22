"""What cannot work is said in one sentence, not in a traceback."""

import shutil
import subprocess
import sys
from pathlib import Path

import environment
import pytest

from tests.helpers.project import ROOT

pytestmark = pytest.mark.full

TOOL = "book/_tools/environment.py"
OLD_PYTHON = """#!/bin/sh
exec "{python}" -c "
import runpy, sys
sys.version_info = (3, 9, 6, 'final', 0)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name='__main__')" "$@"
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """The few files that setting up reads."""
    files = "Makefile", "requirements.txt", "book/requirements.txt", TOOL
    for name in (*files, "book/constraints.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_old_python_is_told_what_to_do(checkout):
    old = checkout / "python3.9"
    old.write_text(OLD_PYTHON.format(python=sys.executable))
    old.chmod(0o755)
    make = ["make", "book", f"PYTHON={old}"]
    done = subprocess.run(make, capture_output=True, text=True)
    assert done.returncode
    assert "Traceback" not in done.stderr
    said = "this is Python 3.9, and the book needs 3.11 or newer"
    assert said in done.stderr
    assert "make book PYTHON=" in done.stderr
    assert not (checkout / ".venv").exists()


def test_the_tool_can_be_read_by_old_pythons():
    source = (ROOT / TOOL).read_text()
    compile(source, "environment.py", "exec")
    assert not [new for new in ('f"', "match ", ":=") if new in source]


@pytest.mark.parametrize(
    ("broken", "gigabytes", "says"),
    [
        ("venv", 0, "venv module"),
        ("pip", 0, "above, pip says what it lacks"),
        ("disk", 1e6, "GB are free on this disk, and 1000000 GB are needed"),
    ],
)
def test_what_fails_is_said_in_a_sentence(
    broken, gigabytes, says, checkout, monkeypatch
):
    monkeypatch.setattr(
        subprocess, "call", lambda words, **_: int(words[2] == broken)
    )
    with pytest.raises(SystemExit, match=f"Cannot set up: .*{says}"):
        environment.main(".venv", "nothing.txt", gigabytes)


@pytest.mark.parametrize(
    ("left", "commands"),
    [("", 2), ("pip", 2), ("python", 2), ("pip python", 1)],
)
def test_what_a_failed_attempt_left_behind_is_made_anew(
    left, commands, checkout, monkeypatch
):
    Path(".venv/bin").mkdir(parents=True)
    Path(".venv/bin/python").symlink_to("nowhere")  # is as good as none
    for name in left.split():
        Path(".venv/bin", name).unlink(missing_ok=True)
        Path(".venv/bin", name).touch()
    done = []
    monkeypatch.setattr(subprocess, "call", lambda x, **_: done.append(x))
    environment.main(".venv", "nothing.txt", 0)
    anew = [sys.executable, "-m", "venv", "--clear", ".venv"]
    assert (anew in done) == (commands == 2)
    assert len(done) == commands
