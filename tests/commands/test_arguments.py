"""The command line: what one can type, how it answers what is wrong, and the
command `trace`."""

import os
import shlex
import subprocess
import sys
import tomllib

import pytest
import torch

import tformer_lite
from tests.helpers.commands import TEXT, char, examples, refusal
from tests.helpers.project import ROOT
from tformer_lite import load_checkpoint, running_trace
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


TRANSLATE = "translate 'they will buy bread.'"
REFUSED = {
    "": "COMMAND",
    "gen": "(is generate meant?); see python -m tformer_lite --help",
    "TRAINS char x": "(is train meant?)",
    "train chra x": "(is char meant?); see python -m tformer_lite train --h",
    "train char x --steos 3 --minuets=1 --seed 2": (
        "no such option: --steos (is --steps meant?), --minuets (is --minutes "
        "meant?); see python -m tformer_lite train char --help"
    ),
    "generate a --max 3": "--max (is --max_new_tokens meant?)",
    "generate a --verbose": "--verbose; if it is a text, write -- before it",
    "generate once upon": "more words than are read, 'upon': put a text in qu",
    "generate a -- --top_k 3": "more words than are read, '--top_k 3'",
    "train char x --norm rsm": "(is rms meant?)",
    "train char x --demo ''": "--demo: '' is empty: leave it out",
    "train char x --steps 1e3": "'1e3' is no whole number",
    f"generate a --seed {2**63}": f"{2**63} is more than {2**63 - 1}",
    "train char a.pipe": "a.pipe: is a device or a pipe: save what it gives",
    "train translate /dev/zero": "/dev/zero: is a device or a pipe",
    "generate a --ckpt a.pipe": "there is no checkpoint a.pipe",
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
    f"{TRANSLATE} --heatmap looks.pdf": "end in .png or .svg",
    f"{TRANSLATE} --heatmap text.txt/looks.png": "png: lies in a file, not",
    "trace --preset bert": "tiny_translator",
    "trace --path nowhere": "no call in 'nowhere'",
}


@pytest.mark.slow
@pytest.mark.parametrize(("words", "answer"), REFUSED.items(), ids=REFUSED)
def test_a_mistake_is_answered_in_one_line_and_nothing_is_written(
    words, answer, capsys, here
):
    os.mkfifo(here / "a.pipe")
    (here / "text.txt").write_text(TEXT)
    (here / "short.txt").write_text("amar")
    (here / "bad.txt").write_bytes(b"one\ntwo\xff\n")
    (here / "few.tsv").write_text("one\tएक\n" * 20)
    pairs = "".join(f"{letter}\tx\n" for letter in "abcdefghijkl")
    (here / "pairs.tsv").write_text(pairs)
    before = {*here.iterdir()}
    assert answer in refusal(capsys, *shlex.split(words))
    assert {x for x in here.iterdir() if x.suffix} == before


@pytest.mark.slow
def test_a_terminal_of_other_letters_gets_question_marks():
    command = [sys.executable, "-m", "tformer_lite", "translate", "we eat."]
    done = subprocess.run(
        command,
        env=os.environ | {"PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, set(done.stdout)) == (0, set("? \n"))


def test_without_a_stdout_a_command_ends_well(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["trace"]) == 0


def test_the_last_layer_can_have_the_weights_of_the_embedding(tmp_path):
    assert main(char(tmp_path, "--steps", "1", "--tied")) == 0
    model = load_checkpoint(tmp_path / "model.pt").model
    assert model.head.weight is model.embedding.tokens.weight


def test_the_versions_are_told(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    own = f"tformer_lite {tformer_lite.__version__}, "
    assert capsys.readouterr().out == f"{own}torch {torch.__version__}\n"
    assert end.value.code == 0


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


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
