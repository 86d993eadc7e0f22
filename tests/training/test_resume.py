"""Going on where a checkpoint left off, to the last bit: after Ctrl-C and
SIGTERM, with files by the clock, and with the weights that were best."""

import math
import shutil
import signal
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from tests.helpers.learning import Cut, equal, text, trainer
from tformer_lite import (
    Checkpoint,
    load_checkpoint,
    mean_loss,
    resume,
    save_checkpoint,
    train,
)
from tformer_lite.training import keeper
from tformer_lite.training import trainer as training
from tformer_lite.training.batches import Sample

DATA, VALID = text(), text(9, seed=2)


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


def test_a_second_ctrl_c_does_not_wait(path):
    old = signal.getsignal(signal.SIGINT)
    one = trainer()
    with pytest.raises(KeyboardInterrupt):
        train(one, Cut(3, times=2), VALID, path)
    assert one.step == 2
    assert not path.exists()
    assert signal.getsignal(signal.SIGINT) is old


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


@pytest.mark.slow
def test_files_by_the_clock_change_nothing_and_each_can_go_on(
    path, tmp_path, monkeypatch
):
    """As if time was up at every step, and the process was then killed."""
    files = []

    def keep(*args):
        save(*args)
        files.append(shutil.copy(path, tmp_path / f"{len(files)}.pt"))

    save = keeper.save_checkpoint
    monkeypatch.setattr(keeper, "save_checkpoint", keep)
    monkeypatch.setattr(keeper, "SECONDS", -1.0)
    monkeypatch.setattr(keeper, "TIMES", 0)
    one = trainer()
    train(one, DATA, VALID, path)
    monkeypatch.undo()
    assert equal(one, whole())
    steps = [resume(file).step for file in files]
    assert steps == [0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 8]
    for file in files[1::4]:
        two = resume(file)
        train(two, DATA, VALID)
        assert equal(two, one)


@pytest.mark.parametrize(("took", "steps"), [(0, [2, 4, 6, 8]), (10, [2, 8])])
def test_a_minute_goes_by_or_twenty_times_what_writing_took(
    path, monkeypatch, took, steps
):
    """By a clock that goes on by 40 seconds a step; the last is the note."""
    now, saved = [0], []

    def save(kept, _):
        saved.append(kept.training["step"])
        now[0] += took

    def later(_):
        now[0] += 40

    monkeypatch.setattr(keeper, "monotonic", lambda: now[0])
    monkeypatch.setattr(keeper, "save_checkpoint", save)
    train(trainer(every=100), DATA, path=path, at_step=later)
    assert saved == steps


@pytest.mark.slow
def test_a_note_looks_at_a_sample_and_always_at_the_same(monkeypatch):
    """An eighth of 3 times 800 rows learned from are 300."""
    seen, big = [], text(2000, seed=2)

    class Watched:
        ignore = big.ignore

        def __len__(self):
            return len(big)

        def __getitem__(self, rows):
            seen.extend(rows)
            return big[rows]

    one = trainer(batch_size=800)
    train(one, text(900), Watched())
    assert len(seen) == 3 * 300
    assert seen[:300] == seen[300:600] == seen[600:]
    gaps = {b - a for a, b in pairwise(seen[:300])}
    assert gaps == {6, 7}  # 2000 / 300
    assert seen[0] + 2000 - seen[299] in (6, 7)
    assert one.val_losses[-1] == mean_loss(one.model, Sample(big, 300))


class Bad:
    """A model whose loss, or gradient, is no number from some call on."""

    def __init__(self, one, calls, bend):
        self.left = calls
        self.bend = bend
        one.model.head.register_forward_hook(self)

    def __call__(self, part, inputs, logits):
        self.left -= part.training
        return self.bend(logits) if self.left < 0 else logits


def with_gradient(value):
    """Leave the logits as they are, and make all their gradients `value`."""

    def bend(logits):
        if logits.requires_grad:
            logits.register_hook(lambda g: torch.full_like(g, value))
        return logits

    return bend


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bend", "said"),
    [
        (lambda x: x * math.nan, "the loss of step 5 is nan"),
        (lambda x: x.abs() * -math.inf, "the loss of step 5 is (nan|inf)"),
        (with_gradient(math.nan), "norm of the gradients of step 5 is nan"),
        (with_gradient(math.inf), "gradients of step 5 is (nan|inf)"),
    ],
)
@pytest.mark.parametrize("clip", [1.0, math.inf])
def test_it_stops_before_a_step_that_would_spoil_the_weights(
    path, bend, said, clip
):
    one = trainer(clip=clip)
    Bad(one, 4, bend)
    with pytest.raises(FloatingPointError, match=f"{said}.* rate of 0.00"):
        train(one, DATA, VALID, path)
    assert one.step == 4
    assert resume(path).step == 3
    assert all(w.isfinite().all() for w in one.model.parameters())


def spoiled(one, at):
    """Make a weight no number once step `at` is done."""

    def spoil(optimizer, *_):
        if one.step == at - 1:
            one.model.head.weight.data[0, 0] = math.nan

    one.optimizer.register_step_post_hook(spoil)
    return one


@pytest.mark.slow
@pytest.mark.parametrize("valid", [VALID, None])
def test_a_note_of_no_number_replaces_no_file(path, valid):
    one = spoiled(trainer(), at=6)
    name = "loss" if valid is None else "validation loss"
    said = f"the {name} after step 6 is nan, .* a longer warmup"
    with pytest.raises(FloatingPointError, match=said):
        train(one, DATA, valid, path)
    two = resume(path)
    assert two.step == 3
    train(two, DATA, VALID)
    assert equal(two, whole()) == (valid is not None)


PATIENT = {"steps": 60, "every": 2, "patience": 3, "lr": 0.03}


@pytest.fixture
def told(monkeypatch):
    """Validation losses that the test chooses."""

    def tell(*losses):
        losses = iter(losses)
        monkeypatch.setattr(training, "mean_loss", lambda *_: next(losses))

    return tell


def states(one, told, losses, path):
    """The weights at each note of a training."""
    found = []
    told(*losses)

    def keep(noted):
        assert noted is one
        found.append(deepcopy(one.model.state_dict()))

    train(one, DATA, VALID, path, at_note=keep)
    return found


def same(one, other):
    return all(one[name].equal(other[name]) for name in one)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("losses", "best"),
    [
        ([5, 4, 3, 3.5, 3.2, 3.1], 2),
        ([1, 2, 3, 4], 0),
        ([5, 4, 4, 4, 4], 1),  # as low is not lower
        ([5, 6, 6, 4, 5, 5, 3, 9, 9, 9], 6),
    ],
)
def test_it_stops_after_so_many_notes_in_vain_and_keeps_the_best(
    told, path, losses, best
):
    one = trainer(**PATIENT)
    found = states(one, told, losses, path)
    assert one.val_losses == losses
    assert one.step == 2 * len(losses)
    assert same(one.model.state_dict(), found[best])
    assert not same(one.model.state_dict(), found[-1])
    kept = load_checkpoint(path)
    assert same(kept.model.state_dict(), found[best])
    assert kept.val_losses == losses


@pytest.mark.slow
@pytest.mark.parametrize("way", ["resume", "recipe"])
def test_patience_that_comes_later_keeps_what_was_there(told, tmp_path, way):
    """No note after it is better than those before: the weights stay."""
    path = tmp_path / "model.pt"
    told(2, 1, 4, 5, 6)
    train(
        trainer(**PATIENT | {"steps": 4, "patience": None}), DATA, VALID, path
    )
    changes = {"steps": 60, "patience": 3}
    two = resume(path, **changes if way == "resume" else {})
    two.recipe = replace(two.recipe, **changes)
    before = deepcopy(two.model.state_dict())
    train(two, DATA, VALID)
    assert two.val_losses == [2, 1, 4, 5, 6]
    assert same(two.model.state_dict(), before)


def test_patience_without_validation_data_is_refused(tmp_path):
    one = trainer(**PATIENT)
    with pytest.raises(ValueError, match="patience=3 waits .* validation"):
        train(one, DATA, path=tmp_path / "model.pt")
    assert one.step == 0
    assert list(tmp_path.iterdir()) == []


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
