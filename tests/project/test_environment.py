"""What cannot work is said in one sentence, not in a traceback."""

import shutil
import subprocess
import sys
from pathlib import Path

import environment
import pytest

from tests.helpers.project import ROOT

pytestmark = pytest.mark.full

TOOL = ROOT / "book" / "_tools" / "environment.py"
# By a shell: what stands behind #! cannot have a space.
OLD_PYTHON = """#!/bin/sh
exec "{python}" -c "
import runpy, sys
sys.version_info = (3, 9, 6, 'final', 0)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name='__main__')" "$@"
"""


@pytest.fixture
def checkout(tmp_path):
    """The few files that setting up reads."""
    for name in (
        "Makefile",
        "requirements.txt",
        "book/requirements.txt",
        "book/constraints.txt",
        "book/_tools/environment.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def make(folder: Path, *arguments: str) -> str:
    """Run make where it must fail, and return what a person sees."""
    result = subprocess.run(
        ["make", *arguments], cwd=folder, capture_output=True, text=True
    )
    assert result.returncode
    assert "Traceback" not in result.stderr
    return result.stderr


def test_an_old_python_is_told_what_to_do(checkout):
    old = checkout / "python3.9"
    old.write_text(OLD_PYTHON.format(python=sys.executable))
    old.chmod(0o755)
    said = make(checkout, "book", f"PYTHON={old}")
    assert "this is Python 3.9, and the book needs 3.11 or newer" in said
    assert "make book PYTHON=" in said
    assert not (checkout / ".venv").exists()


def test_a_full_disk_is_named(checkout):
    makefile = checkout / "Makefile"
    rule = "book/requirements.txt 1\n"
    assert rule in makefile.read_text()
    makefile.write_text(
        makefile.read_text().replace(rule, rule[:-2] + "1e6\n")
    )
    said = make(checkout, "book", f"PYTHON={sys.executable}")
    assert "GB are free on this disk, and 1000000 GB are needed" in said


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        (
            "(Caused by SSLError(SSLCertVerificationError(1, '[SSL: "
            "CERTIFICATE_VERIFY_FAILED] certificate verify failed",
            "PIP_CERT=/path/to/file.crt",
        ),
        ("error: command 'gcc' failed: No such file", "compiler"),
        (
            "Temporary failure in name resolution\nERROR: No matching "
            "distribution found for x",
            "connect to the network",
        ),
        ("ERROR: No matching distribution found for x", "check the network"),
        ("ERROR: something new", "something new"),
    ],
)
def test_pips_failures_become_one_sentence(printed, said):
    sentence = environment.pip_problem(printed)
    assert said in sentence
    assert "\n" not in sentence


def test_a_failing_command_leaves_its_output_in_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-c", "print('error: command \\'cc\\''); 1/0"]
    with pytest.raises(SystemExit, match="no working C compiler") as caught:
        environment.run(command, environment.pip_problem)
    assert "ZeroDivisionError" not in str(caught.value)
    assert "ZeroDivisionError" in (tmp_path / "install.log").read_text()


def test_the_tool_can_be_read_by_old_pythons():
    compile(TOOL.read_text(), "environment.py", "exec")
    source = TOOL.read_text()
    assert 'f"' not in source
    assert "match " not in source


@pytest.fixture
def commands(checkout, monkeypatch) -> list[list[str]]:
    """The commands that setting up would run, in a folder without .venv."""
    monkeypatch.chdir(checkout)
    Path(".venv/bin").mkdir(parents=True)
    noted: list[list[str]] = []
    monkeypatch.setattr(environment, "run", lambda one, _: noted.append(one))
    return noted


@pytest.mark.parametrize("left", ["", "pip", "python"])
def test_what_a_failed_attempt_left_behind_is_made_anew(left, commands):
    for name in left.split():
        Path(".venv/bin", name).touch()
    environment.main(".venv", "nothing.txt", 0)
    anew = [sys.executable, "-m", "venv", "--clear", ".venv"]
    assert commands[0] == anew
    assert commands[1][1:4] == ["-m", "pip", "install"]


def test_what_is_whole_is_left_as_it_is(commands):
    for name in ("pip", "python"):
        Path(".venv/bin", name).touch()
    environment.main(".venv", "nothing.txt", 0)
    assert len(commands) == 1


def test_an_environment_whose_python_is_gone_is_made_anew(
    checkout, monkeypatch
):
    monkeypatch.chdir(checkout)
    Path(".venv/bin").mkdir(parents=True)
    Path(".venv/bin/pip").touch()
    Path(".venv/bin/python").symlink_to("nowhere")
    Path("nothing.txt").touch()
    environment.main(".venv", "nothing.txt", 0)
    assert Path(".venv/bin/python").exists()
