"""Ctrl-C in a training, and a training by several processes."""

import os
import re
import signal
import subprocess
import sys

import pytest

from tests.helpers.commands import char
from tests.helpers.project import ROOT
from tformer_lite import Checkpoint, load_checkpoint
from tformer_lite.__main__ import main

pytestmark = pytest.mark.full

ENV = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
PYTHON = [sys.executable, "-m"]


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


def test_two_processes_train_one_model_and_go_on_as_if_nothing_was(tmp_path):
    """156 windows, 78 for each process: 3 batches of 32 are an epoch."""
    last, whole = tmp_path / "model.pt", tmp_path / "whole.pt"
    one_of_them_speaks(by_two(tmp_path, "--dropout", "0.5", "--epochs", "2"))
    last.rename(whole)
    by_two(tmp_path, "--dropout", "0.5", "--epochs", "1")
    by_two(tmp_path, "--epochs", "2", "--resume")
    same_in_the_end(load_checkpoint(whole), load_checkpoint(last))
    assert main(["generate", "amar", "--ckpt", str(whole)]) == 0


def one_of_them_speaks(done: subprocess.CompletedProcess) -> None:
    assert "Using device: cpu (2 processes)\n" in done.stdout
    lines = re.findall(r"^Epoch \d/2", done.stdout, re.MULTILINE)
    assert lines == ["Epoch 1/2", "Epoch 2/2"]
    assert done.stdout.count("Generated: ") == 1
    assert "Warning" not in done.stderr


def same_in_the_end(whole: Checkpoint, parts: Checkpoint) -> None:
    """Each draws its dropout from where it was; one file has it all."""
    assert parts.training["step"] == whole.training["step"] == 6
    assert len(whole.val_losses) == 2
    assert parts.train_losses == whole.train_losses
    for one, other in zip(parts.model.parameters(), whole.model.parameters()):
        assert one.equal(other)
    states = [one.training["rng_states_of_others"] for one in (parts, whole)]
    assert states[0][0].equal(states[1][0])
    assert not states[0][0].equal(parts.training["rng_state"])
