"""The warning of overfitting: where it is, and where there is only noise."""

import math
import random
from types import SimpleNamespace

import pytest

from tformer_lite.commands.learning.course import overfitting_text
from tformer_lite.example.shipped import stored


def warned(ours, theirs, patience=None) -> list[str]:
    """What is said at each note of a training with these losses."""
    found = []
    for n in range(1, len(theirs) + 1):
        one = SimpleNamespace(
            train_losses=ours[:n],
            val_losses=theirs[:n],
            noted=[(100 * (i + 1), 0.0) for i in range(n)],
            recipe=SimpleNamespace(patience=patience),
        )
        found.append(overfitting_text(one))
    return found


OURS = [3.1, 2.3, 2.0, 1.8, 1.6, 1.4, 1.2, 1.0, 0.8, 0.6]
THEIRS = [3.0, 2.3, 2.1, 2.01, 2.05, 2.1, 2.2, 2.35, 2.5, 2.63]


@pytest.mark.parametrize("patience", [None, 7])
def test_it_says_what_was_seen_and_what_helps(patience):
    *_, last = warned(OURS, THEIRS, patience)
    assert last.startswith(
        "The lowest val_loss was 2.01 at step 400, now it is 2.63, while "
        "train_loss fell from 1.80 to 0.60: the model learns its data by "
    )
    assert ("--patience 3" in last) == (patience is None)


def test_it_waits_until_there_is_something_to_see():
    found = warned(OURS, THEIRS)
    assert not any(found[:7])


@pytest.mark.parametrize("seed", "12345")
def test_the_books_own_run_that_learns_by_heart_is_found(seed):
    run = stored("overfitting")["seeds"][seed]
    found = warned(run["train_losses"], run["val_losses"])
    best = run["val_losses"].index(min(run["val_losses"]))
    assert not any(found[: best + 4])
    assert found[-1]


@pytest.mark.parametrize("seed", "12345")
def test_the_books_runs_that_go_well_are_not(seed):
    theirs = stored("learning")["seeds"][seed]["val_losses"]
    ours = [loss - 0.1 * i for i, loss in enumerate(theirs)]
    assert not any(warned(ours, theirs))


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.05])
@pytest.mark.parametrize("notes", [10, 50])
def test_noise_is_no_rise(noise, notes):
    numbers = random.Random(0)
    for _ in range(20):
        curve = [1.7 + 1.5 * math.exp(-i / 8) for i in range(notes)]
        theirs = [loss * (1 + numbers.gauss(0, noise)) for loss in curve]
        ours = [loss - i / notes for i, loss in enumerate(curve)]
        assert not any(warned(ours, theirs))


def test_where_both_losses_rise_it_is_not_overfitting_text():
    assert not any(warned(THEIRS, THEIRS))
    assert not any(warned([2.0] * 10, THEIRS))


def test_few_losses_say_nothing():
    for n in range(4):
        assert not any(warned(OURS[:n], [2.0, 9.0, 9.0][:n]))
    nothing = SimpleNamespace(train_losses=[], val_losses=[])
    assert overfitting_text(nothing) == ""
