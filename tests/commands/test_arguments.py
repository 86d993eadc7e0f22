"""The command line: what one can type, how it answers what is wrong, and the
commands `trace` and `check`."""

import os
import subprocess
import sys

import pytest

from classroom.__main__ import main as teach
from shapewatch.__main__ import main as watch
from tests.helpers.commands import char, examples, refusal, translate
from tests.helpers.factories import own_modules
from tformer_lite import running_trace
from tformer_lite.__main__ import main
from tformer_lite.commands.arguments import TO_TRY, read
from tformer_lite.commands.inspecting import PRESETS

# Source 002's `train` and `parse_args`, as they stand there; its folder
# above is left out.
SOURCE = {
    "train char corpus.txt --as-in-source": {
        "block_size": 32,
        "batch_size": 32,
        "d_model": 128,
        "num_heads": 4,
        "num_layers": 2,
        "d_ff": 256,
        "max_seq_len": 64,
        "dropout": 0.1,
        "lr": 3e-4,
        "epochs": 50,
        "train_split": 0.8,
        "save_path": "tiny_transformer.pt",
        "demo": "amar",
    },
    "generate": {
        "prompt": None,
        "max_new_tokens": 100,
        "temperature": 1.0,
        "top_k": 0,
        "num_samples": 1,
        "ckpt": "tiny_transformer.pt",
    },
}
HELPS = [name.split() for name in TO_TRY]


@pytest.mark.parametrize("command", SOURCE)
def test_the_options_and_defaults_are_those_of_source_002(command):
    options = vars(read(command.split()))
    assert {n: options[n] for n in SOURCE[command]} == SOURCE[command]
    typed = f"{command} --seed 3".split()
    assert read(typed).given["seed"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("command", HELPS, ids=" ".join)
def test_help_says_what_a_command_does_with_examples_that_work(
    command, capsys
):
    found = examples(capsys, *command)
    assert len(found) >= 2
    for words in found:
        assert words[: len(command)] == command
        assert read(words).run


def test_what_follows_classroom_goes_to_its_own_command_line(
    capsys, monkeypatch
):
    assert teach(["list"]) == 0
    own = capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["-m", "classroom", "list"])
    assert main() == 0
    assert capsys.readouterr() == own


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("", "COMMAND"),
        ("train char", "PATH"),
        ("train char x --d_model 0", "--d_model: 0 is less than 1"),
        ("train char x --dropout 2", "2 is not between 0 and 1"),
        ("train char x --lr nan", "nan is not above 0"),
        ("train char x --schedule flat", "constant"),
        ("train char x --steps 3 --epochs 2", "--steps"),
        ("train char nowhere.txt", "nowhere.txt: No such file"),
        ("generate hello --ckpt nowhere.pt", "there is no checkpoint"),
        ("trace --preset bert", "tiny_translator"),
        ("trace --path nowhere", "no call in 'nowhere'"),
    ],
)
def test_a_mistake_is_answered_in_one_line(
    words, answer, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert answer in refusal(capsys, *words.split())
    assert list(tmp_path.iterdir()) == []


def test_files_that_cannot_be_learned_from_are_named(capsys, tmp_path):
    assert "Is a directory" in refusal(capsys, "train", "char", tmp_path)
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"one\ntwo\xff\n")
    assert "line 2: the byte 0xff" in refusal(capsys, "train", "char", bad)
    said = refusal(capsys, "train", "translate", bad)
    assert "line 2: the byte 0xff" in said
    said = refusal(capsys, *char(tmp_path, text="amar"))
    assert "cuts 4 ids into 3 and 1" in said
    few = [("one", "एक")] * 20  # one pair, twenty times
    said = refusal(capsys, *translate(tmp_path, pairs=few))
    assert "has 1 pairs that fit, and at least 10" in said


def test_sizes_that_cannot_be_are_refused_before_training(capsys, tmp_path):
    said = refusal(capsys, *char(tmp_path, "--d_model", "15"))
    assert "--d_model=15 is not divisible by --num_heads=2" in said
    said = refusal(capsys, *char(tmp_path, "--block_size", "9"))
    assert "--block_size 9 is more than --max_seq_len 8" in said
    said = refusal(capsys, *char(tmp_path, "--device", "cuda"))
    assert "no CUDA device" in said


def test_where_no_checkpoint_can_be_written_nothing_is_trained(
    capsys, tmp_path
):
    said = refusal(capsys, *char(tmp_path, "--save_path", str(tmp_path)))
    assert f"--save_path {tmp_path}: is a folder, not a file." in said
    inside = tmp_path / "text.txt" / "model.pt"
    said = refusal(capsys, *char(tmp_path, "--save_path", str(inside)))
    assert "model.pt: lies in a file, not in a folder." in said


@pytest.mark.full
def test_a_reader_that_goes_away_ends_the_command_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "tformer_lite", "trace", "--calls"]
    done = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (2, "")


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


@pytest.fixture(
    name="main", params=[watch, main], ids=["shapewatch", "tformer_lite"]
)
def each_main(request):
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


@pytest.mark.slow
def test_the_options_are_those_of_a_report(main, here, capsys):
    words = ["check", "own_model:wrong", "--output=last", "--no-causal"]
    assert main([*words, "--pad", "0", "--positions", "3"]) == 1
    out = capsys.readouterr().out
    assert "causality           – not judged  Outputs may depend on" in out
    assert "padding_invariance  ✗ broken" in out
    why = ["--expect", "padding_invariance=as it was", "--expect", "past=no"]
    assert main([*words, "--pad", "0", *why]) == 0
    out = capsys.readouterr().out
    assert "! expected    as it was. Row 1: output 2 moves" in out


@pytest.mark.slow
def test_a_model_of_this_module_brings_its_ids():
    assert main(["check", "tformer_lite:running_model"]) == 0


@pytest.mark.slow
def test_its_ids_have_the_padding_that_is_said(capsys):
    """The model hides the id 1, and attends to 5."""
    target = "tformer_lite:running_model"
    assert main(["check", target, "--pad", "1"]) == 0
    assert main(["check", target, "--pad", "5"]) == 1
    out = capsys.readouterr().out
    assert "padding_invariance  ✗ broken      Row 0: output 0 moves" in out


def test_a_model_that_does_not_run_is_broken(main, here, capsys):
    assert main(["check", "own_model:mismatched"]) == 1
    assert "The model does not run: RuntimeErr" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("own_model", "'own_model' names no factory: give module:factory"),
        ("nothing_here:f", "there is no module 'nothing_here' in /"),
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


def test_what_is_expected_has_a_name_and_a_reason(main, here, capsys):
    words = "check", "own_model:right", "--expect"
    said = refusal(capsys, *words, "past", main=main)
    assert "write name=reason" in said
    said = refusal(capsys, *words, "speed=slow", main=main)
    assert "no check 'speed'" in said


@pytest.mark.slow
def test_every_call_of_the_running_model_is_printed(capsys):
    """The witness: `running_trace`, which the chapters show."""
    assert main(["trace", "--calls"]) == 0
    head, rest = capsys.readouterr().out.split("\n", 1)
    assert (
        head == "tiny_translator: B=2, S=8, T=8, H=3, D=4, C=12, F=48, V=1024"
    )
    assert rest == f"{running_trace().calls()}\n"


@pytest.mark.slow
def test_the_whole_trace_goes_to_a_file_as_json(capsys, tmp_path):
    path = tmp_path / "trace.json"
    assert main(["trace", "--json", str(path)]) == 0
    assert f"Trace saved to {path}" in capsys.readouterr().out
    assert path.read_text("utf8") == running_trace().to_json()


@pytest.mark.full
@pytest.mark.parametrize("name", PRESETS)
def test_every_axis_of_every_module_has_its_name(name, capsys):
    """But for positions, whose table is longer than what is read of it."""
    assert main(["trace", "--preset", name]) == 0
    first, *lines = capsys.readouterr().out.splitlines()[1:]
    model = "DecoderOnly" if name == "char_lm" else "EncoderDecoder"
    assert first.split()[0] == model
    assert first.endswith("-> (B, T, V)")
    assert not [line for line in lines if "?" in line or "~" in line]
