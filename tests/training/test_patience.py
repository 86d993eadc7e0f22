"""Early stop: when, and which weights stay, here and in the file."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from tests.helpers.learning import equal, text, trainer
from tformer_lite import load_checkpoint, mean_loss, resume, train
from tformer_lite.training import trainer as module

DATA, VALID = text(), text(9, seed=2)
PATIENT = {"steps": 60, "every": 2, "patience": 3, "lr": 0.03}


@pytest.fixture
def told(monkeypatch):
    """Validation losses that the test chooses."""

    def tell(*losses):
        losses = iter(losses)
        monkeypatch.setattr(module, "mean_loss", lambda *_: next(losses))

    return tell


def states(one, told, losses):
    """The weights at each note of a training, and the training."""
    found = []
    told(*losses)

    def keep(noted):
        assert noted is one
        found.append(deepcopy(one.model.state_dict()))

    train(one, DATA, VALID, at_note=keep)
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
    told, losses, best
):
    one = trainer(**PATIENT)
    found = states(one, told, losses)
    assert one.val_losses == losses
    assert one.step == 2 * len(losses)
    assert same(one.model.state_dict(), found[best])
    assert not same(one.model.state_dict(), found[-1])


def test_the_best_stays_when_the_steps_end_first(told):
    one = trainer(**PATIENT | {"steps": 8})
    found = states(one, told, [5, 3, 4, 4])
    assert one.step == 8
    assert same(one.model.state_dict(), found[1])


def test_without_patience_the_last_weights_stay(told):
    one = trainer(**PATIENT | {"steps": 8, "patience": None})
    found = states(one, told, [1, 3, 4, 4])
    assert same(one.model.state_dict(), found[-1])


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A training on random ids, which soon learns nothing that is true."""
    path = tmp_path_factory.mktemp("early") / "model.pt"
    one = trainer(**PATIENT)
    train(one, DATA, VALID, path)
    assert one.step < 60
    assert one.notes_since_best() == 3
    return one, path


@pytest.mark.slow
def test_the_loss_of_what_is_kept_is_the_lowest(stopped):
    one, path = stopped
    kept = load_checkpoint(path)
    lowest = min(one.val_losses)
    assert mean_loss(one.model, VALID) == lowest
    assert mean_loss(kept.model, VALID) == lowest
    assert kept.val_losses == one.val_losses
    assert kept.val_losses[-1] > lowest + 0.01


def test_to_resume_what_has_stopped_is_to_do_nothing(stopped):
    one, path = stopped
    two = resume(path)
    train(two, DATA, VALID)
    assert two.step == one.step
    assert two.val_losses == one.val_losses
    assert same(two.model.state_dict(), one.model.state_dict())


@pytest.mark.slow
def test_more_patience_goes_on_from_the_last_weights(stopped, tmp_path):
    """As if there had been more from the start, to the last bit."""
    _, path = stopped
    two, whole = resume(path, patience=6), trainer(**PATIENT | {"patience": 6})
    train(two, DATA, VALID)
    train(whole, DATA, VALID)
    assert two.step > stopped[0].step
    assert equal(two, whole)


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


def test_patience_alone_does_not_change_a_step(told):
    one, two = trainer(**PATIENT), trainer(**PATIENT)
    two.recipe = replace(two.recipe, patience=None)
    told(*range(9, 0, -1), *range(9, 0, -1))
    one.recipe = replace(one.recipe, steps=6)
    two.recipe = replace(two.recipe, steps=6)
    train(one, DATA, VALID)
    train(two, DATA, VALID)
    for here, there in zip(one.model.parameters(), two.model.parameters()):
        assert_close(here, there, rtol=0, atol=0)
    assert torch.equal(one.random, two.random)
