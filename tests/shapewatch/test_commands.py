"""`python -m shapewatch`: a model of somebody else's, traced and checked."""

import importlib
import json
import re
import shlex
import sys

import pytest

from shapewatch import report, trace
from shapewatch.__main__ import main
from shapewatch.commands.running import EXAMPLES, read
from tests.helpers.commands import examples, refusal
from tests.helpers.project import ROOT, run

THEIRS = """\
import torch
from beside import V
from torch import nn

class Model(nn.Module):
    def __init__(self, fault=None):
        super().__init__()
        self.table, self.fault = nn.Embedding(V, 6), fault or (lambda x: x)
        wide = nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 6)
        self.wide = nn.Sequential(*wide)

    def forward(self, ids, mask=None):
        x = self.table(ids) + torch.arange(ids.shape[1]).sin()[:, None]
        x = x + self.wide(x)
        if mask is not None:
            x = x * mask[..., None]
        return self.fault(x)

ids, mask = torch.tensor([[3, 4, 5, 6], [7, 8, 9, 0]]), torch.ones(2, 4)
by_name = {"ids": ids, "mask": mask}

def make():
    return Model(), ids

def several():
    return Model(), (ids, mask)

def named():
    return Model(), by_name

def alone():
    return Model()

def averaging():
    return Model(lambda x: x + x.mean(1, keepdim=True)), ids

def mismatched():
    return Model(lambda x: x @ x), ids

def number():
    return 3, ids

def fails():
    return 1 / 0
"""
FILES = {
    "theirs": THEIRS,
    "beside": "V = 10\n",
    "ends": "raise SystemExit(0)\n",
    "wrong": "raise ValueError('no')\n",
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with those modules; none of them stays imported."""
    for name, code in FILES.items():
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in FILES.keys() & sys.modules.keys():
        del sys.modules[name]


def given(name):
    """What a factory of the module gives."""
    return getattr(importlib.import_module("theirs"), name)()


def typed(capsys, *words) -> list[str]:
    """The lines that a command prints that ends well."""
    capsys.readouterr()
    assert main([*words]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out.splitlines()


NAMES = {"dims": {"B": 2, "T": 4}, "axes": ["B T"]}


@pytest.mark.parametrize(
    ("words", "options", "more"),
    [
        ("theirs:make", {}, ""),
        ("theirs.py:make --dims B=2,T=4 --axes 'B T'", NAMES, ""),
        ("theirs:make --depth 1", {}, "depth=1 of 2: --depth 2 shows all mod"),
    ],
)
def test_a_stranger_s_modules_are_printed(words, options, more, capsys):
    """The witness: the tree that `trace` gives, what shows more apart; and
    its calls."""
    lines = typed(capsys, "trace", *shlex.split(words))
    seen = trace(*given("make"), **options)
    assert lines[:-1] == str(seen.tree(1 if more else None)).splitlines()[:-1]
    calls = typed(capsys, "trace", *shlex.split(words), "--calls")
    assert calls == str(seen.calls()).splitlines()
    assert lines[-1].startswith(more)
    assert lines[-1].endswith("--calls lists all 9 calls")


def test_each_input_may_have_its_axes(capsys):
    axes = ["--dims", "B=2,T=4", "--axes", "B T", "--axes", "B T"]
    by_place = typed(capsys, "trace", "theirs:several", *axes)
    assert by_place[0] == "Model  (B, T) int64, (B, T) -> (B, T, 6)"
    assert typed(capsys, "trace", "theirs:named", *axes) == by_place


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "required: FACTORY; see python -m shapewatch --help"),
        ("trace theirs:make --depth 0", "'0' is not a whole number from 1"),
        ("trace theirs", "'theirs' names no factory: give module:factory"),
        ("trace theirs:makes", "module 'theirs' has no attribute 'makes'"),
        ("trace nothing_here:make", "Error: No module named 'nothing_here'\n"),
        ("trace theirs:make --dims B", "--dims B: write B=2,T=8"),
        ("trace theirs:named --axes 'B T'", "It is given ids (2, 4), mask"),
        ("trace theirs:make --json seen", "which `trace` does not make; see"),
        ("check nothing.py:f", "nothing.py:f fails: FileNotFoundError: "),
        ("check wrong:f", "wrong:f fails: ValueError: no, at wrong.py:1"),
        ("check ends:f", "ends ends the program: let it run only under if __"),
        ("check theirs:fails", "division by zero, at theirs.py:44: return"),
        ("check theirs:number", "gave int, not a model: a f"),
        ("check theirs:alone", "theirs:alone: give the model's inputs, too"),
        ("trace theirs:mismatched", "theirs:mismatched does not run: Runtim"),
    ],
)
def test_a_mistake_is_answered_in_a_line(words, says, capsys):
    assert says in refusal(capsys, *shlex.split(words), main=main)


def test_a_model_that_fails_is_printed_up_to_there(capsys):
    assert main(["trace", "theirs:mismatched"]) == 2
    said = capsys.readouterr()
    assert said.out.startswith("Model  (2, 4) int64 -> failed\n")
    assert "\nin Model: x @ x\n  x: (2?, 4?, 6?), made by " in said.out
    assert said.err.count("\n") == 1


@pytest.mark.slow
def test_a_factory_alone_is_traced_and_checked(capsys):
    assert main(["theirs.py:averaging", "--depth", "1"]) == 1
    said = capsys.readouterr().out
    tree = str(trace(*given("averaging")).tree(1))
    tree, found = tree.rpartition(": ")[0], report(*given("averaging"))
    assert said.startswith(tree)
    assert said.endswith(f"calls\n{found}\n")


@pytest.mark.slow
def test_a_report_goes_to_a_file_as_json_with_every_field(capsys, here):
    """The witness: the report, and the fields that `to_json` promises."""
    typed(capsys, "check", "theirs:make", "--json", "report.json")
    written = (here / "report.json").read_text("utf8")
    seen = report(*given("make"))
    assert written == seen.to_json()
    data = json.loads(written)
    schema = type(seen).__doc__.partition("`to_json`")[2]
    fields = re.findall(r"`(\w+)`", schema)
    assert {*data, *data["findings"][0]} | {"seen"} == {*fields}
    levels = {finding["level"] for finding in data["findings"]}
    assert all(f'"{level}"' in schema for level in levels)
    assert data["ok"] is seen.ok is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("make", 0, "finite              ✓ holds       All outp"),
        ("averaging", 1, "causality           ✗ broken      Sequence 0: pos"),
        ("mismatched", 1, "The model does not run: RuntimeErr"),
        ("averaging --no-causal", 0, "causality           – not judged  Outp"),
        ("averaging --pad 0", 1, "padding_invariance  ✗ broken"),
    ],
)
def test_a_check_says_what_it_finds_and_gives_1_if_it_is_broken(
    words, code, said, capsys
):
    assert main(["check", *f"theirs:{words}".split()]) == code
    printed = capsys.readouterr()
    assert said in printed.out
    assert printed.err == ""


@pytest.mark.slow
def test_a_shell_gets_the_code_and_no_other_package_is_asked_for(here):
    """None in the place of a module says that there is none."""
    others = ["tformer_lite", "classroom", "pictures", "matplotlib", "tqdm"]
    lines = (
        "import runpy, sys",
        f"sys.modules |= dict.fromkeys({others})",
        "runpy.run_module('shapewatch', run_name='__main__')",
    )
    python = "env", f"PYTHONPATH={ROOT}", sys.executable, "-c"
    done = run(here, *python, "; ".join(lines), "check", "theirs.py:averaging")
    assert (done.returncode, done.stderr) == (1, "")
    assert "causality           ✗ broken" in done.stdout


def test_help_gives_examples_that_can_be_typed(capsys):
    found = examples(capsys, main=main)
    assert len(found) == len(EXAMPLES)
    assert {read(words).command for words in found} == {None, "trace", "check"}
    assert (
        read(["check", "--pad", "0", "theirs:make"]).factory == "theirs:make"
    )
