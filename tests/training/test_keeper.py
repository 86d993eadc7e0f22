"""Between steps: files by the clock, samples, losses that are no numbers."""

import math
import shutil
from itertools import pairwise

import pytest
import torch

from tests.helpers.learning import equal, text, trainer
from tformer_lite import mean_loss, resume, train
from tformer_lite.training import keeper as module
from tformer_lite.training.batches import Sample, labels_in

DATA, VALID = text(), text(9, seed=2)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pt"


def straight(**changes):
    one = trainer(**changes)
    train(one, DATA, VALID)
    return one


@pytest.mark.slow
def test_files_by_the_clock_change_nothing_and_each_can_go_on(
    path, tmp_path, monkeypatch
):
    """As if time was up at every step, and the process was then killed."""
    files = []

    def keep(*args):
        save(*args)
        files.append(shutil.copy(path, tmp_path / f"{len(files)}.pt"))

    save = module.save_checkpoint
    monkeypatch.setattr(module, "save_checkpoint", keep)
    monkeypatch.setattr(module, "SECONDS", -1.0)
    monkeypatch.setattr(module, "TIMES", 0)
    one = trainer()
    train(one, DATA, VALID, path)
    monkeypatch.undo()
    assert equal(one, straight())
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

    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    monkeypatch.setattr(module, "save_checkpoint", save)
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


@pytest.mark.parametrize("n", [1, 2, 7, 300])
def test_a_sample_of_all_is_all_in_order(n):
    assert Sample(text(n), n).rows.tolist() == list(range(n))
    assert len(Sample(text(n), n + 1)) == n
    assert labels_in(Sample(text(n), 2)) == 8 * min(n, 2)


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
    assert equal(two, straight()) == (valid is not None)


def test_nor_does_a_file_by_the_clock(path, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", -1.0)
    monkeypatch.setattr(module, "TIMES", 0)
    with pytest.raises(FloatingPointError, match="the loss after step 2 is"):
        train(spoiled(trainer(), at=2), DATA, VALID, path)
    assert resume(path).step == 1


def test_the_steps_of_notes_and_their_times_are_kept(path):
    one = trainer(steps=5)
    train(one, DATA, VALID, path)
    two = resume(path, steps=8)
    train(two, DATA, VALID)
    assert [step for step, _ in two.noted] == [3, 5, 6, 8]
    times = [seconds for _, seconds in two.noted]
    assert times == sorted(times)
    assert two.noted[:2] == one.noted
    assert two.seconds >= times[-1]


def test_whoever_asks_hears_of_each_step():
    heard = []
    train(trainer(), DATA, VALID, at_step=lambda one: heard.append(one.step))
    assert heard == list(range(1, 9))


def test_an_older_file_has_notes_without_times(path):
    """Before there were any, notes were told by their number."""
    one = trainer(steps=7)
    train(one, DATA, VALID, path)
    kept = torch.load(path, weights_only=True)
    for name in ("noted", "seconds", "rng_states_of_others"):
        del kept["training"][name]
    torch.save(kept, path)
    two = resume(path)
    assert two.noted == [(3, 0.0), (6, 0.0), (7, 0.0)]
    assert equal(one, two)
