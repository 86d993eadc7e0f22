"""What training shows, and what it leaves alone."""

import threading

import pytest
import torch

from tests.helpers.learning import (
    RECIPE,
    equal,
    everything,
    text,
    trainer,
    writer,
)
from tformer_lite import (
    Recipe,
    Trainer,
    train,
)

DATA, VALID = text(), text(9, seed=2)


def test_nothing_is_written_on_the_terminal_unless_asked(capfd):
    train(trainer(), DATA, VALID)
    assert capfd.readouterr() == ("", "")


def test_the_bar_shows_loss_and_tokens_per_second(capfd):
    one = trainer()
    train(one, DATA, show=True)
    out, bar = capfd.readouterr()
    assert out == ""
    last = bar.split("\r")[-1]
    assert "100%" in last
    assert "512/512" in last  # 8 steps of 8 rows of 8 tokens, at most
    assert "tokens/s" in last
    assert f"loss {one.loss:.3f}" in last


@pytest.mark.slow
def test_a_thread_may_train_too():
    one, two = trainer(), trainer()
    thread = threading.Thread(target=train, args=(one, DATA))
    thread.start()
    thread.join()
    train(two, DATA)
    assert equal(one, two)


def test_training_that_is_over_does_nothing_more():
    one = trainer()
    train(one, DATA)
    before = [tensor.clone() for tensor in everything(one)]
    train(one, DATA)
    assert all(map(torch.equal, everything(one), before))


def test_a_moved_model_takes_its_optimizer_along():
    """Another type stands for another device, which is not always there."""
    one = Trainer(writer(dropout=0.0), RECIPE)
    train(one, DATA)
    one.model.double()
    one.recipe = Recipe(**{**vars(RECIPE), "steps": 9})
    train(one, DATA)
    kinds = {
        value.dtype
        for state in one.optimizer.state.values()
        for name, value in state.items()
        if name != "step"
    }
    assert kinds == {torch.float64}
    assert one.step == 9
