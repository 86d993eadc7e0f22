"""The command line: what one can type, and how it answers what is wrong."""

import os
import resource
import subprocess
import sys

import pytest

from classroom.__main__ import main as teach
from tests.helpers.commands import char, examples, refusal, translate
from tformer_lite.__main__ import main
from tformer_lite.commands.arguments import TO_TRY, read

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
    """In a shell, too, where nobody hands the words over."""
    assert teach(["list"]) == 0
    own = capsys.readouterr()
    assert main(["classroom", "list"]) == 0
    assert capsys.readouterr() == own
    monkeypatch.setattr(sys, "argv", ["-m", "classroom", "list"])
    assert main() == 0
    assert capsys.readouterr() == own


def test_help_names_the_command_line_of_the_exercises(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "  python -m classroom list\n" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("", "COMMAND"),
        ("train", "KIND"),
        ("train char", "PATH"),
        ("fly", "'fly'"),
        ("train char x --d_model 0", "--d_model: 0 is less than 1"),
        ("train char x --d_model many", "--d_model: invalid count value"),
        ("train char x --dropout 2", "2 is not between 0 and 1"),
        ("train char x --d_ff 0", "see python -m tformer_lite train char -"),
        ("train char x --lr nan", "nan is not above 0"),
        ("train char x --schedule flat", "constant"),
        ("train char x --steps 3 --epochs 2", "--steps"),
        ("train char nowhere.txt", "nowhere.txt: No such file"),
        ("train translate nowhere.tsv", "nowhere.tsv: No such file"),
        ("generate hello --ckpt nowhere.pt", "there is no checkpoint"),
        ("translate hello --ckpt nowhere.pt", "there is no checkpoint"),
        ("trace --preset bert", "tiny_translator"),
        ("trace --path nowhere", "no call in 'nowhere'"),
        ("trace --json nowhere/trace.json", "nowhere/trace.json: No such"),
        ("trace --json /dev/full", "No space left on device"),
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
    """A folder as the file, and a file as the folder."""
    said = refusal(capsys, *char(tmp_path, "--save_path", str(tmp_path)))
    assert f"--save_path {tmp_path}: is a folder, not a file." in said
    inside = tmp_path / "text.txt" / "model.pt"
    said = refusal(capsys, *char(tmp_path, "--save_path", str(inside)))
    assert "model.pt: lies in a file, not in a folder." in said
    said = refusal(capsys, *char(tmp_path, "--save_path", "/dev/full"))
    assert "--save_path /dev/full: is a device or a pipe, not a file." in said


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 1000])
def test_a_full_disk_is_one_line_and_the_old_checkpoint_stays(
    room, capsys, tmp_path
):
    """The witness: the system, which gives a file no more room than so many
    bytes; torch's own zip writer then fails in a way of its own."""
    path = tmp_path / "model.pt"
    path.write_text("old")
    command = char(tmp_path, "--steps", "1", "--force")
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, old[1]))
    try:
        assert main(command) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == f"tformer_lite: {path}: File too large"
    assert path.read_text() == "old"


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
