"""Going on where a checkpoint left off, to the last bit."""

import signal
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from tests.helpers.learning import RECIPE, Cut, equal, text, trainer, writer
from tests.helpers.project import ROOT
from tformer_lite import (
    Checkpoint,
    Trainer,
    load_checkpoint,
    resume,
    save_checkpoint,
    train,
)

DATA, VALID = text(), text(9, seed=2)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pt"


def whole(**changes):
    one = trainer(**changes)
    train(one, DATA, VALID)
    return one


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize("patience", [None, 1])
def test_an_interrupted_run_goes_on_to_the_last_bit(path, step, patience):
    """An epoch has 3 steps, so has an interval; dropout is on."""
    one = trainer(patience=patience)
    with pytest.raises(KeyboardInterrupt):
        train(one, Cut(step + 1), VALID, path)
    two = resume(path)
    assert one.step == two.step == step
    assert two.recipe == one.recipe
    train(two, DATA, VALID, path)
    assert equal(two, whole(patience=patience))
    three = resume(path)
    train(three, DATA, VALID)
    assert equal(three, two)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_run_in_another_type_goes_on_in_it(path, dtype):
    def begun():
        return Trainer(writer(positions="sinusoidal").to(dtype), RECIPE)

    one, straight = begun(), begun()
    with pytest.raises(KeyboardInterrupt):
        train(one, Cut(5), VALID, path)
    two = resume(path)
    assert {p.dtype for p in two.model.parameters()} == {dtype}
    train(two, DATA, VALID)
    train(straight, DATA, VALID)
    assert equal(two, straight)


def test_what_was_frozen_stays_frozen(path):
    def begun():
        one = trainer()
        one.model.embedding.requires_grad_(False)
        return one

    one, straight = begun(), begun()
    with pytest.raises(KeyboardInterrupt):
        train(one, Cut(5), VALID, path)
    two = resume(path)
    train(two, DATA, VALID)
    train(straight, DATA, VALID)
    assert equal(two, straight)
    first = trainer().model.embedding.tokens.weight
    assert two.model.embedding.tokens.weight.equal(first)


def test_it_goes_on_in_memory_too():
    one = trainer()
    with pytest.raises(KeyboardInterrupt):
        train(one, Cut(5), VALID)
    torch.manual_seed(99)
    train(one, DATA, VALID)
    assert equal(one, whole())


def test_more_steps_than_planned_go_on_from_the_end(path):
    short = trainer(steps=6, schedule="constant")
    train(short, DATA, VALID, path)
    long = resume(path, steps=8)
    train(long, DATA, VALID)
    assert equal(long, whole(schedule="constant"))


def test_a_change_of_the_recipe_reaches_the_optimizer(path):
    changes = {"betas": (0.5, 0.6), "weight_decay": 0.2}
    train(trainer(weight_decay=0.1), DATA, VALID, path)
    for given in {}, changes:
        (group,) = resume(path, **given).optimizer.param_groups
        wanted = vars(replace(RECIPE, weight_decay=0.1)) | given
        assert all(group[name] == wanted[name] for name in changes)


def test_a_resumed_run_has_what_the_first_one_was_given(path):
    one = trainer()
    one.block_size = 5
    train(one, DATA, VALID, path)
    two = resume(path)
    assert (two.block_size, two.tokenizers) == (5, ())
    assert two.optimizer.param_groups[0]["betas"] == one.recipe.betas
    assert equal(one, two)


def test_a_schedule_of_ones_own_must_be_given_again(path):
    def half(step, recipe):
        return 0.5

    one = trainer(schedule=half)
    train(one, DATA, VALID, path)
    load_checkpoint(path)
    with pytest.raises(ValueError, match="half .* a function of your own"):
        resume(path)
    two = resume(path, schedule=half, steps=9)
    train(two, DATA, VALID)
    assert two.step == 9
    assert two.recipe == replace(one.recipe, steps=9)


def test_a_model_without_its_training_cannot_go_on(path):
    save_checkpoint(Checkpoint(trainer().model), path)
    with pytest.raises(ValueError, match="model.pt has a model, but no train"):
        resume(path)


KILLED = """
import os, signal, sys
from tests.helpers.learning import text, trainer
from tformer_lite import train
data = text()
class Killed:
    ignore, left = data.ignore, 9
    def __len__(self): return len(data)
    def __getitem__(self, rows):
        Killed.left -= 1
        if Killed.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return data[rows]
train(trainer(steps=12), Killed(), text(9, seed=2), sys.argv[1])
"""


@pytest.mark.full
def test_a_killed_process_leaves_its_last_note(path):
    command = [sys.executable, "-c", KILLED, path]
    assert subprocess.run(command, cwd=ROOT).returncode == -signal.SIGKILL
    two = resume(path)
    assert two.step == 6
    train(two, DATA, VALID)
    assert equal(two, whole(steps=12))
