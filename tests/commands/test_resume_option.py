"""--resume: a training goes on with what it began with, after Ctrl-C, and by
several processes."""

import os
import re
import signal
import subprocess
import sys

import pytest
import torch

from tests.helpers.commands import PAIRS, TEXT, char, refusal, translate
from tests.helpers.project import ROOT
from tformer_lite import load_checkpoint, resume
from tformer_lite.__main__ import main

pytestmark = pytest.mark.slow

STEPS = "--steps", "1"
MORE = "--resume", "--steps", "2"


def without_path(command: list[str]) -> list[str]:
    """The words of a command, its file forgotten."""
    return [word for word in command if not re.search(r"\.t(xt|sv)$", word)]


def edited(folder, edit) -> None:
    """Write the checkpoint anew, edited."""
    path = folder / "model.pt"
    packed = torch.load(path, weights_only=True)
    edit(packed)
    torch.save(packed, path)


def test_losses_on_other_data_do_not_count_any_more(tmp_path):
    """Else what was best before would stay best for ever."""
    more = "--patience", "2", "--resume", "--force"
    main(char(tmp_path, "--steps", "4", "--patience", "2"))

    def best(packed):
        packed["val_losses"] = [0.0 for _ in packed["val_losses"]]

    edited(tmp_path, best)
    assert main(char(tmp_path, *more, "--steps", "8", text=TEXT[::-1])) == 0
    kept = load_checkpoint(tmp_path / "model.pt")
    assert kept.training["step"] == 8
    assert kept.val_losses
    assert min(kept.val_losses) > 0


@pytest.mark.parametrize("begin", [char, translate])
def test_a_file_that_changed_is_refused_until_it_is_forced(
    begin, capsys, tmp_path
):
    main(begin(tmp_path, *STEPS))
    before = (tmp_path / "model.pt").read_bytes()
    new = {"text": TEXT + "amar"} if begin is char else {"pairs": PAIRS[1:]}
    for change in (lambda words: words, without_path):
        said = refusal(capsys, *change(begin(tmp_path, *MORE, **new)))
        assert "has changed since" in said
        assert "add --force to go on" in said
        assert "another --save_path to train from the start" in said
    assert (tmp_path / "model.pt").read_bytes() == before
    assert main(begin(tmp_path, *MORE, "--force", **new)) == 0
    assert main(begin(tmp_path, *MORE, "--steps", "3", **new)) == 0


def test_another_file_is_refused_and_one_that_only_moved_is_not(
    capsys, tmp_path
):
    main(char(tmp_path, *STEPS))
    other = tmp_path / "other.txt"
    other.write_text(TEXT[::-1])
    again = without_path(char(tmp_path, *MORE))
    said = refusal(capsys, *again, other)
    assert f"{other} is not {tmp_path / 'text.txt'}, which" in said
    (tmp_path / "text.txt").rename(tmp_path / "moved.txt")
    said = refusal(capsys, *again)
    assert "text.txt, which cannot be read (No such file" in said
    assert "give PATH, where it is now" in said
    assert main([*again, str(tmp_path / "moved.txt")]) == 0
    assert main([*again, "--steps", "3"]) == 0


def test_what_was_trained_on_the_corpus_goes_on_with_that_alone(
    capsys, tmp_path
):
    new = without_path(translate(tmp_path, *STEPS))
    assert main(new) == 0
    again = translate(tmp_path, *MORE)
    for extra in ([], ["--force"]):
        said = refusal(capsys, *again, *extra)
        assert "was trained on the English-Nepali corpus" in said
        assert "leave" in said
        assert "pairs.tsv out to go on" in said
    assert main(without_path(again)) == 0


def test_the_share_and_the_vocabulary_are_the_checkpoints(capsys, tmp_path):
    main(char(tmp_path, *STEPS, "--train_split", "0.6"))
    assert main(char(tmp_path, *MORE)) == 0
    path = tmp_path / "model.pt"
    assert resume(path).origin.share == 0.6
    said = refusal(capsys, *char(tmp_path, *MORE, "--train_split", "0.7"))
    assert "--train_split 0.7, but" in said
    assert "has 0.6: leave it out" in said
    others = {"text": TEXT + "QX" * 99}
    said = refusal(capsys, *char(tmp_path, *MORE, "--force", **others))
    assert "text.txt has 'Q', 'X', which the vocabulary of" in said
    said = refusal(capsys, *char(tmp_path, "--force", "--train_split", "1"))
    assert "--train_split 1.0: choose a share between 0 and 1" in said


def test_the_seed_of_the_split_stays_whatever_seed_goes_on(capsys, tmp_path):
    main(translate(tmp_path, *STEPS, "--seed", "3"))
    first = capsys.readouterr().out.splitlines()
    main(translate(tmp_path, *MORE, "--seed", "4"))
    capsys.readouterr()
    main(translate(tmp_path, "--resume", "--steps", "3"))
    second = capsys.readouterr().out.splitlines()
    assert first[1] == second[1]
    assert [x.split(" -> ")[0] for x in first if " -> " in x] == [
        x.split(" -> ")[0] for x in second if " -> " in x
    ]
    assert resume(tmp_path / "model.pt").origin.seed == 3


def test_an_existing_file_is_replaced_when_that_is_typed(capsys, tmp_path):
    command = char(tmp_path, *STEPS)
    main(command)
    before = (tmp_path / "model.pt").read_bytes()
    said = refusal(capsys, *command)
    assert "is there already: --resume goes on from it, --force" in said
    assert (tmp_path / "model.pt").read_bytes() == before
    assert main([*command, "--force", "--seed", "1"]) == 0
    assert (tmp_path / "model.pt").read_bytes() != before


@pytest.mark.parametrize("begin", [char, translate])
def test_a_file_that_does_not_say_its_data_goes_on_where_that_is_forced(
    begin, capsys, tmp_path
):
    """Files of the first format are such ones."""

    def forget(packed):
        packed["format"] = 1
        del packed["buffers"], packed["tied"], packed["training"]["data"]

    main(begin(tmp_path, *STEPS))
    edited(tmp_path, forget)
    again = begin(tmp_path, *MORE)
    said = refusal(capsys, *again)
    assert "model.pt does not say what it was trained on" in said
    assert "Then add --force to go on" in said
    assert main([*again, "--force"]) == 0
    assert main([*without_path(again), "--steps", "3"]) == 0


ENV = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
PYTHON = [sys.executable, "-m"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("by", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_signal_saves_and_what_goes_on_is_as_if_nothing_was(
    tmp_path, by, code
):
    command = char(tmp_path, "--epochs", "400")
    process = subprocess.Popen(
        [*PYTHON, "tformer_lite", *command], env=ENV, cwd=tmp_path, **PIPES
    )
    for line in process.stdout:
        if line.startswith("Epoch 3/400"):
            process.send_signal(by)
            break
    _, said = process.communicate(timeout=300)
    assert process.returncode == code
    step = load_checkpoint(tmp_path / "model.pt").training["step"]
    assert 15 <= step < 2000
    last = said.splitlines()[-1]
    assert f"stopped at step {step} of 2000" in last
    assert "Traceback" not in said
    again = re.search(r"Go on: python -m tformer_lite (.*)", last)[1]
    assert again.split() == [*command, "--resume"]
    end = str(step // 5 + 2)
    assert main([*again.split(), "--epochs", end]) == 0
    parts = load_checkpoint(tmp_path / "model.pt")
    assert main([*command, "--epochs", end, "--force"]) == 0
    whole = load_checkpoint(tmp_path / "model.pt")
    assert parts.training["step"] == whole.training["step"] > step
    assert parts.train_losses == whole.train_losses
    assert parts.val_losses == whole.val_losses


def by_two(folder, *options: str) -> subprocess.CompletedProcess:
    """Train in two processes, which torchrun starts."""
    torchrun = [*PYTHON, "torch.distributed.run", "--standalone"]
    command = [*torchrun, "--nproc-per-node=2", "-m", "tformer_lite"]
    done = subprocess.run(
        [*command, *char(folder, *options)],
        env=ENV,
        cwd=folder,
        timeout=300,
        **PIPES,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.full
def test_two_processes_train_one_model_and_go_on_as_if_nothing_was(tmp_path):
    """156 windows, 78 for each process: 3 batches of 32 are an epoch."""
    last, whole = tmp_path / "model.pt", tmp_path / "whole.pt"
    done = by_two(tmp_path, "--dropout", "0.5", "--epochs", "2")
    assert "Using device: cpu (2 processes)\n" in done.stdout
    lines = re.findall(r"^Epoch \d/2", done.stdout, re.MULTILINE)
    assert lines == ["Epoch 1/2", "Epoch 2/2"]  # one of them speaks
    assert done.stdout.count("Generated: ") == 1
    assert "Warning" not in done.stderr
    last.rename(whole)
    by_two(tmp_path, "--dropout", "0.5", "--epochs", "1")
    by_two(tmp_path, "--epochs", "2", "--resume")
    one, other = load_checkpoint(whole), load_checkpoint(last)
    assert one.training["step"] == other.training["step"] == 6
    assert one.train_losses == other.train_losses
    assert all(
        map(torch.equal, one.model.parameters(), other.model.parameters())
    )
    # Each draws its dropout from where it was.
    mine, theirs = one.training, other.training
    states = mine["rng_states_of_others"], theirs["rng_states_of_others"]
    assert states[0][0].equal(states[1][0])
    assert not states[0][0].equal(mine["rng_state"])
    assert main(["generate", "amar", "--ckpt", str(whole)]) == 0
