"""`check`: a report on a model that a factory of one's own gives."""

import pytest

from shapewatch.__main__ import main as watch
from tests.helpers.commands import refusal
from tests.helpers.factories import own_modules
from tformer_lite.__main__ import main as lite

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


@pytest.fixture(params=[watch, lite], ids=["shapewatch", "tformer_lite"])
def main(request):
    """Each command line that has a `check`."""
    return request.param


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a module, and one beside it."""
    lost, beside = "import nowhere_at_all\n", "V = 10\n"
    files = {"own_model": CODE, "beside": beside, "lost": lost}
    with own_modules(tmp_path, monkeypatch, **files):
        yield tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["right", "several", "by_name"])
def test_a_model_with_nothing_broken_gives_0(main, here, capsys, name):
    assert main(["check", f"own_model:{name}"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("finite              ✓ holds       All outp")
    assert said.err == ""


@pytest.mark.slow
def test_a_broken_one_gives_1(main, here, capsys):
    assert main(["check", "own_model:wrong", "--output", "last"]) == 1
    out = capsys.readouterr().out
    assert "causality           ✗ broken      Row 0: position 0 moves" in out


def test_a_file_has_what_stands_beside_it(main, here, capsys, monkeypatch):
    monkeypatch.chdir(here.parent)
    assert main(["check", f"{here.name}/own_model.py:right"]) == 0


@pytest.mark.slow
def test_the_options_are_those_of_a_report(main, here, capsys):
    words = ["check", "own_model:wrong", "--output=last", "--no-causal"]
    assert main([*words, "--pad", "0", "--positions", "3"]) == 1
    out = capsys.readouterr().out
    assert "causality           – not judged  The future may be heard" in out
    assert "padding_invariance  ✗ broken" in out
    why = ["--expect", "padding_invariance=as it was", "--expect", "past=no"]
    assert main([*words, "--pad", "0", *why]) == 0
    out = capsys.readouterr().out
    assert "! expected    as it was. Row 1: output 2 moves" in out


@pytest.mark.slow
def test_a_model_of_this_module_brings_its_ids():
    assert lite(["check", "tformer_lite:running_model"]) == 0


@pytest.mark.slow
def test_its_ids_have_the_padding_that_is_said(capsys):
    """The model hides the id 1, and hears 5."""
    target = "tformer_lite:running_model"
    assert lite(["check", target, "--pad", "1"]) == 0
    assert lite(["check", target, "--pad", "5"]) == 1
    out = capsys.readouterr().out
    assert "padding_invariance  ✗ broken      Row 0: output 0 moves" in out


def test_the_tracer_knows_no_module_but_the_readers_own(capsys):
    target = "tformer_lite:running_model"
    said = refusal(capsys, "check", target, main=watch)
    assert "give the model's inputs, too" in said


def test_a_model_that_does_not_run_is_broken(main, here, capsys):
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
def test_what_is_wrong_is_said_in_a_line(main, here, capsys, target, says):
    assert says in refusal(capsys, "check", target, main=main)


def test_the_line_of_a_factory_that_fails_is_said(main, here, capsys):
    line = "at own_model.py:38: return 1 / 0"
    assert line in refusal(capsys, "check", "own_model:fails", main=main)
    line = "at lost.py:1: import nowhere_at_all"
    assert line in refusal(capsys, "check", "lost.py:f", main=main)


def test_what_is_expected_has_a_name_and_a_reason(main, here, capsys):
    words = "check", "own_model:right", "--expect"
    said = refusal(capsys, *words, "past", main=main)
    assert "write name=reason" in said
    said = refusal(capsys, *words, "speed=slow", main=main)
    assert "no check 'speed'" in said
