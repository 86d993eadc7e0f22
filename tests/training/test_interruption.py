"""Ctrl-C and SIGTERM: a step ends, a file is written, nothing is lost."""

import os
import signal
from dataclasses import replace

import pytest
import torch

from tests.helpers.learning import Cut, equal, text, trainer
from tformer_lite import resume, train
from tformer_lite.training import keeper as module

DATA, VALID = text(), text(9, seed=2)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pt"


def test_ctrl_c_waits_for_the_step_saves_and_puts_the_handler_back(path):
    def mine(*_):
        raise AssertionError

    old = signal.signal(signal.SIGINT, mine)
    try:
        one = trainer(every=100)
        with pytest.raises(KeyboardInterrupt):
            train(one, Cut(3), VALID, path)
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, old)
    assert one.step == 2
    assert len(one.recent) == 2
    assert equal(resume(path), one)
    assert not any(part.training for part in one.model.modules())


def test_ctrl_c_in_the_middle_of_a_step_lets_it_end(path, monkeypatch):
    def pressed(*args, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return clip(*args, **options)

    clip = torch.nn.utils.clip_grad_norm_
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", pressed)
    one, two = trainer(), trainer(steps=1)
    two.recipe = replace(two.recipe, schedule=lambda step, _: step / 2)
    with pytest.raises(KeyboardInterrupt):
        train(one, DATA, path=path)
    monkeypatch.undo()
    train(two, DATA)
    assert one.step == 1
    assert resume(path).step == 1
    for here, there in zip(one.model.parameters(), two.model.parameters()):
        assert here.equal(there)


def test_a_second_ctrl_c_does_not_wait(path):
    old = signal.getsignal(signal.SIGINT)
    one = trainer()
    with pytest.raises(KeyboardInterrupt):
        train(one, Cut(3, times=2), VALID, path)
    assert one.step == 2
    assert not path.exists()
    assert signal.getsignal(signal.SIGINT) is old


@pytest.mark.slow
def test_ctrl_c_while_the_last_file_is_written_is_not_lost(path, monkeypatch):
    def pressed(*args):
        save(*args)
        if args[0].training["step"] == 8:
            os.kill(os.getpid(), signal.SIGINT)

    save = module.save_checkpoint
    monkeypatch.setattr(module, "save_checkpoint", pressed)
    with pytest.raises(KeyboardInterrupt):
        train(trainer(), DATA, VALID, path)
    assert resume(path).steps_left() == 0


@pytest.mark.slow
def test_sigterm_saves_too_and_ends_as_the_shell_expects(path):
    """A second one, as some schedulers send it, changes nothing."""
    one = trainer(every=100)
    with pytest.raises(SystemExit) as end:
        train(one, Cut(3, 2, by=signal.SIGTERM), VALID, path)
    assert end.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert one.step == 2
    assert equal(resume(path), one)


def test_a_program_that_handles_sigterm_goes_on_doing_so():
    heard = []
    old = signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        one = trainer()
        train(one, Cut(3, by=signal.SIGTERM), VALID)
    finally:
        signal.signal(signal.SIGTERM, old)
    assert heard == [1]
    assert one.step == 8


@pytest.mark.slow
@pytest.mark.parametrize("note", [1, 2, 3])
@pytest.mark.parametrize("patience", [None, 2])
def test_a_validation_is_left_at_once_and_done_again(path, note, patience):
    """The rows are validated on in two batches, of 64 and 56."""
    big, one = text(120, seed=2), trainer(patience=patience)
    cut = Cut(note * 2 - 1, data=big)
    with pytest.raises(KeyboardInterrupt):
        train(one, DATA, cut, path)
    assert cut.left == 0
    straight, two = trainer(patience=patience), resume(path)
    for some in one, two:
        assert some.step == (3, 6, 8)[note - 1]
        assert len(some.val_losses) == len(some.train_losses) == note - 1
    for some in straight, one, two:
        train(some, DATA, big, path)
        assert equal(some, straight)
    three = resume(path)
    train(three, DATA, big)
    assert equal(three, straight)
