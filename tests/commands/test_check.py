"""`check`: a report on a model that a factory of one's own gives."""

import sys

import pytest

from tests.helpers.commands import refusal
from tformer_lite.__main__ import main

CODE = """\
import torch
from torch import nn
from beside import V

class Model(nn.Module):
    def __init__(self, ahead=0):
        super().__init__()
        self.table, self.head = nn.Embedding(V, 8), nn.Linear(8, V)
        self.ahead = ahead

    def forward(self, ids, mask=None):
        x = self.table(ids)
        y = self.head(x + self.ahead * x.roll(-1, 1))
        return {"hidden": x, "last": y}

def ids():
    return torch.tensor([[3, 4, 5, 6], [7, 8, 9, 0]])

def right():
    return Model(), ids()

def several():
    return Model(), (ids(), torch.ones(2, 4))

def by_name():
    return Model(), {"ids": ids(), "mask": torch.ones(2, 4)}

def wrong():
    return Model(ahead=1), ids()

def alone():
    return Model()

def number():
    return 3, ids()

def fails():
    return 1 / 0

def mismatched():
    return nn.Linear(3, 3), torch.ones(2, 4, 8)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a module, and one beside it; nothing stays imported."""
    (tmp_path / "own_model.py").write_text(CODE)
    (tmp_path / "beside.py").write_text("V = 10\n")
    (tmp_path / "lost.py").write_text("import nowhere_at_all\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name in ("own_model", "beside", "lost"):
            del sys.modules[name]


@pytest.mark.parametrize("name", ["right", "several", "by_name"])
def test_a_model_with_nothing_broken_gives_0(here, capsys, name):
    assert main(["check", f"own_model:{name}"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("finite              ✓ holds       All outp")
    assert said.err == ""


def test_a_broken_one_gives_1(here, capsys):
    assert main(["check", "own_model:wrong", "--output", "last"]) == 1
    out = capsys.readouterr().out
    assert "causality           ✗ broken      Row 0: position 0 moves" in out


def test_a_file_has_what_stands_beside_it(here, capsys, monkeypatch):
    monkeypatch.chdir(here.parent)
    assert main(["check", f"{here.name}/own_model.py:right"]) == 0


def test_the_options_are_those_of_a_report(here, capsys):
    words = ["check", "own_model:wrong", "--output=last", "--no-causal"]
    assert main([*words, "--pad", "0", "--positions", "3"]) == 1
    out = capsys.readouterr().out
    assert "causality           – not judged  The future may be heard" in out
    assert "padding_invariance  ✗ broken" in out
    why = ["--expect", "padding_invariance=as it was", "--expect", "past=no"]
    assert main([*words, "--pad", "0", *why]) == 0
    out = capsys.readouterr().out
    assert "! expected    as it was. Row 1: output 2 moves" in out


def test_a_model_of_this_module_brings_its_ids(capsys):
    assert main(["check", "tformer_lite:running_model"]) == 0


def test_a_model_that_does_not_run_is_broken(here, capsys):
    assert main(["check", "own_model:mismatched"]) == 1
    assert "The model does not run: RuntimeErr" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("own_model", "'own_model' names no factory: give module:factory"),
        ("own_model:", "'own_model:' names no factory: give module:"),
        ("nothing_here:f", "there is no module 'nothing_here' in /"),
        ("own_model.sub:f", "there is no module 'own_model.sub' in /"),
        ("nothing.py:f", "there is no file /"),
        ("own_model:f", "own_model has no function 'f'; it has Model, ids,"),
        ("lost:f", "lost fails: ModuleNotFoundError: No module named 'now"),
        ("own_model:fails", "ZeroDivisionError: division by zero, at own_mo"),
        ("own_model:number", "own_model:number gave int, and no model: a f"),
        ("own_model:alone", "own_model:alone: give the model's inputs, too"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(here, capsys, target, says):
    assert says in refusal(capsys, "check", target)


def test_the_line_of_a_factory_that_fails_is_said(here, capsys):
    line = "at own_model.py:38: return 1 / 0"
    assert line in refusal(capsys, "check", "own_model:fails")
    line = "at lost.py:1: import nowhere_at_all"
    assert line in refusal(capsys, "check", "lost.py:f")


def test_what_is_expected_has_a_name_and_a_reason(here, capsys):
    words = "check", "own_model:right", "--expect"
    assert "write name=reason" in refusal(capsys, *words, "past")
    assert "no check 'speed'" in refusal(capsys, *words, "speed=slow")
