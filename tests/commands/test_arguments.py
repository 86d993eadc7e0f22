"""The command line: what one can type, how it answers what is wrong, and the
commands `trace` and `check`."""

import os
import shlex
import subprocess
import sys
import tomllib

import pytest

from classroom.__main__ import main as teach
from tests.helpers.commands import TEXT, examples, refusal
from tests.helpers.factories import own_modules
from tests.helpers.project import ROOT
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


@pytest.mark.slow
def test_help_needs_torch_alone():
    """Nothing else that the module asks for is there."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))
    names = [x.partition(">=")[0] for x in asked["project"]["dependencies"]]
    names = [{"pillow": "PIL"}.get(x, x) for x in names if "==" not in x]
    assert {"tqdm", "matplotlib"} < {*names}
    lost = [name for name in names if name != "torch"]
    code = f"import sys; sys.modules |= dict.fromkeys({lost}); "
    code += "from tformer_lite.__main__ import main; main(['train', '--help'])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "examples:" in done.stdout


def test_what_follows_classroom_goes_to_its_own_command_line(
    capsys, monkeypatch
):
    assert teach(["list"]) == 0
    own = capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["-m", "classroom", "list"])
    assert main() == 0
    assert capsys.readouterr() == own


TRANSLATE = "translate 'they will buy bread.'"
REFUSED = {
    "": "COMMAND",
    "train char": "PATH",
    "train char x --d_model 0": "--d_model: 0 is less than 1",
    "train char x --dropout 2": "2 is not between 0 and 1",
    "train char x --lr nan": "nan is not above 0",
    "train char x --schedule flat": "constant",
    "train char x --norm best": "'rms'",
    "train char text.txt --betas 0.9 1": "below 1",
    "train char x --weight_decay -1": "-1 is less than 0",
    "train char x --minutes 0": "0 is not above 0",
    "train char x --minutes inf": "inf is not above 0 and finite: give a",
    "train char x --minutes nan": "nan is not above 0 and finite: give a",
    "train char x --minutes=-1": "-1 is not above 0 and finite: give a",
    "train char x --steps 3 --epochs 2": "--epochs: not allowed with",
    "train char x --minutes 1 --steps 1": "--steps: not allowed with",
    "train char nowhere.txt": "nowhere.txt: No such file",
    "train char .": "Is a directory",
    "train char bad.txt": "line 2: the byte 0xff",
    "train translate bad.txt": "line 2: the byte 0xff",
    "train char short.txt": (
        "--train_split 0.9 leaves 3 to train on and 1 to validate on, and "
        "--block_size 32 needs 33 of each. Bring a longer text, or choose a"
    ),
    # One pair, twenty times.
    "train translate few.tsv": "has 1 different pairs, and at least 10",
    "train translate pairs.tsv --vocab_size 4": "--vocab_size 4 leaves no ro",
    "train translate --max_len 5": "do not fit into 5 tokens, more than a ten",
    "train translate --save_path /": (
        "--save_path /: is a folder, not a file. Choose a file, new or old, in"
    ),
    "train translate --minutes 0": "--minutes: 0 is not above 0 and finite: g",
    "train translate --betas 0.9 1": "--betas: 1 is not 0 or more and below 1",
    "train char text.txt --block_size 8 --d_model 15 --num_heads 4": (
        "--d_model=15 is not divisible by --num_heads=4"
    ),
    "train char text.txt --block_size 8 --d_model 16 --num_heads 16": (
        "--num_heads that makes --d_model / --num_heads even"
    ),
    "train char text.txt --as-in-source --max_seq_len 8": (
        "--block_size 32 is more than --max_seq_len 8"
    ),
    "train char text.txt --device cuda": "no CUDA device",
    "train char text.txt --save_path .": "is a folder, not a file.",
    "train char text.txt --save_path text.txt/model.pt": (
        "model.pt: lies in a file, not in a folder."
    ),
    "generate hello --ckpt nowhere.pt": "there is no checkpoint",
    "generate a --temperature 0": (
        "argument --temperature: 0 is no number above 0; to take the likeliest"
    ),
    "generate a --temperature inf": "inf is no number above 0",
    "generate a --top_p 0": "0 is not between 0 and 1, or leaves nothing to",
    "generate a --top_p 2": "2 is not between 0 and 1",
    "generate a --top_k -1": "-1 is less than 0",
    f"{TRANSLATE} again --heatmap looks.png": "give one, in quotes",
    "translate ' ' --shapes": "give one, in quotes",
    f"{TRANSLATE} --interactive --shapes": "give one, in quotes",
    f"{TRANSLATE} --shapes --max_len 1": "no word to look at",
    f"{TRANSLATE} --heatmap looks.pdf": "end in .png or .svg",
    f"{TRANSLATE} --heatmap nowhere/looks.png": "nowhere/looks.png: No",
    "trace --preset bert": "tiny_translator",
    "trace --path nowhere": "no call in 'nowhere'",
    "check nothing.py:f": "there is no file /",
    "check lost:f": "lost fails: ModuleNotFoundError: No module named 'now",
    "check own_model:fails": "ZeroDivisionError: division by zero, at own_mo",
    "check own_model:number": "gave int, and no model: a f",
    "check own_model:right --expect speed=slow": "no check 'speed'",
}


@pytest.mark.slow
@pytest.mark.parametrize(("words", "answer"), REFUSED.items(), ids=REFUSED)
def test_a_mistake_is_answered_in_one_line_and_nothing_is_written(
    words, answer, capsys, here
):
    (here / "text.txt").write_text(TEXT)
    (here / "short.txt").write_text("amar")
    (here / "bad.txt").write_bytes(b"one\ntwo\xff\n")
    (here / "few.tsv").write_text("one\tएक\n" * 20)
    pairs = "".join(f"{letter}\tx\n" for letter in "abcdefghijkl")
    (here / "pairs.tsv").write_text(pairs)
    before = {*here.iterdir()}
    assert answer in refusal(capsys, *shlex.split(words))
    assert {x for x in here.iterdir() if x.suffix} == before


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

ids = torch.tensor([[3, 4, 5, 6], [7, 8, 9, 0]])

def right():
    return Model(), {"ids": ids, "mask": torch.ones(2, 4)}

def wrong():
    return Model(ahead=1), ids

def number():
    return 3, ids

def fails():
    return 1 / 0

def mismatched():
    return nn.Linear(3, 3), torch.ones(2, 4, 8)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a module, and one beside it."""
    lost, beside = "import nowhere_at_all\n", "V = 10\n"
    files = {"own_model": CODE, "beside": beside, "lost": lost}
    with own_modules(tmp_path, monkeypatch, **files):
        yield tmp_path


PADDED = "own_model:wrong --output=last --no-causal --pad 0"
EXPECTED = "--expect 'padding_invariance=as it was' --expect past=no"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("own_model:right", 0, "finite              ✓ holds       All outp"),
        (
            "own_model:wrong --output last",
            1,
            "causality           ✗ broken      Sequence 0: position 0 moves",
        ),
        ("own_model:mismatched", 1, "The model does not run: RuntimeErr"),
        (PADDED, 1, "causality           – not judged  Outputs may depend on"),
        (f"{PADDED} --positions 3", 1, "padding_invariance  ✗ broken"),
        (
            f"{PADDED} {EXPECTED}",
            0,
            "! expected    as it was. Sequence 1: output 2 moves",
        ),
        # It brings its ids; the model hides the id 1, and attends to 5.
        ("tformer_lite:running_model", 0, "✓ holds"),
        ("tformer_lite:running_model --pad 1", 0, "padding_invariance  ✓"),
        (
            "tformer_lite:running_model --pad 5",
            1,
            "padding_invariance  ✗ broken      Sequence 0: output 0 moves",
        ),
    ],
)
def test_a_check_says_what_it_finds_and_gives_1_if_it_is_broken(
    words, code, said, here, capsys
):
    assert main(["check", *shlex.split(words)]) == code
    found = capsys.readouterr()
    assert said in found.out
    assert found.err == ""


@pytest.mark.slow
def test_every_call_of_the_running_model_is_printed(capsys):
    """The witness: `running_trace`, which the chapters show."""
    assert main(["trace", "--calls"]) == 0
    head, rest = capsys.readouterr().out.split("\n", 1)
    assert (
        head == "tiny_translator: B=2, S=8, T=8, H=3, D=4, C=12, F=48, V=1024"
    )
    assert rest == f"{running_trace().calls()}\n"


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
