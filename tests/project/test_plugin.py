"""The fixture `check_model`, in somebody else's tests."""

import sys
import tomllib
from importlib import import_module

import pytest

from tests.helpers.project import ROOT, run

TESTS = """\
import sys
import torch
from torch import nn

IDS = torch.tensor([[3, 4, 5, 6], [7, 8, 9, 0]])

class Ahead(nn.Embedding):
    def forward(self, ids):
        x = super().forward(ids)
        return x + x.roll(-1, 1)

def test_right(check_model):
    seen = check_model(nn.Embedding(10, 8), IDS)
    assert seen.ok and seen["finite"].holds

def test_wrong(check_model):
    check_model(Ahead(10, 8), IDS)

def test_expected(check_model):
    why = {"causality": "It looks ahead.", "past": "It looks ahead."}
    check_model(Ahead(10, 8), IDS, expect=why)

def test_fails(check_model):
    check_model(nn.Linear(3, 3), torch.ones(2, 4, 8))
"""
PLAIN = """\
import sys

def test_plain():
    assert "shapewatch.pytest_plugin" in sys.modules
    assert "torch" not in sys.modules
"""


def run_tests(folder, text):
    """Run tests in a process and a folder of their own."""
    (folder / "test_own.py").write_text(text)
    plugin = ["-p", "shapewatch.pytest_plugin", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", "-rA", *plugin]
    return run(folder, "env", f"PYTHONPATH={ROOT}", *command).stdout


@pytest.mark.full
def test_the_fixture_fails_with_what_is_broken(tmp_path):
    said = run_tests(tmp_path, TESTS)
    for name in "right", "expected":
        assert f"PASSED test_own.py::test_{name}" in said, said
    for name in "wrong", "fails":
        assert f"FAILED test_own.py::test_{name}" in said
    broken = "causality           ✗ broken      Sequence 0: position 0 moves"
    assert broken in said
    assert "✓ holds" not in said  # only what is broken
    assert "model               ✗ broken      The model does not run" in said


@pytest.mark.full
def test_a_run_that_does_not_use_it_imports_no_torch(tmp_path):
    assert "1 passed" in run_tests(tmp_path, PLAIN)


def test_pytest_finds_it_where_the_module_is_installed():
    text = (ROOT / "shapewatch" / "pyproject.toml").read_text("utf8")
    points = tomllib.loads(text)["project"]["entry-points"]["pytest11"]
    assert points == {"shapewatch": "shapewatch.pytest_plugin"}
    assert import_module(points["shapewatch"]).check_model
