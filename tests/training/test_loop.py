"""The training loop and its losses against PyTorch's own parts, and sums."""

import math
import threading
from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

from tests.helpers.learning import RECIPE, equal, text, trainer, writer
from tformer_lite import (
    Recipe,
    Trainer,
    mean_loss,
    train,
)
from tformer_lite.text.tokenizers import PAD
from tformer_lite.training.batches import batches, loss_of

DATA, VALID = text(), text(9, seed=2)


def by_hand(model, recipe, data):
    """Ten lines of plain PyTorch; the loss of each step."""
    options = {"betas": recipe.betas, "weight_decay": recipe.weight_decay}
    adam = torch.optim.AdamW(model.parameters(), **options, foreach=False)
    losses = []
    for step, (inputs, labels) in enumerate(batches(data, recipe), 1):
        if step > recipe.steps:
            return losses
        loss = cross_entropy(
            model(*inputs).transpose(1, 2),
            labels,
            ignore_index=data.ignore,
            label_smoothing=recipe.smoothing,
        )
        adam.param_groups[0]["lr"] = recipe.rate(step)
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        adam.step()
        losses.append(loss.item())
    return losses


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"smoothing": 0.1, "weight_decay": 0.1, "clip": 0.05},
        {"schedule": "noam", "betas": (0.8, 0.9), "clip": math.inf},
    ],
    ids=str,
)
def test_the_whole_loop_is_ten_lines_of_pytorch(changes):
    recipe = Recipe(**{**vars(RECIPE), **changes})
    mine = Trainer(writer(dropout=0.0).double(), recipe)
    theirs = deepcopy(mine.model)
    train(mine, DATA)
    losses = by_hand(theirs, recipe, DATA)
    means = [sum(some) / len(some) for some in (losses[:3], losses[3:6])]
    assert_close(mine.train_losses, [*means, sum(losses[6:]) / 2])
    for here, there in zip(mine.model.parameters(), theirs.parameters()):
        assert_close(here, there, atol=1e-8, rtol=0)


def test_order_and_dropout_come_from_the_recipes_seed_alone():
    one, two, three = trainer(), trainer(), trainer(seed=6)
    train(one, DATA, VALID)
    torch.manual_seed(99)
    train(two, DATA, VALID)
    train(three, DATA, VALID)
    assert equal(one, two)
    assert not equal(one, three)


def test_validation_changes_nothing_in_the_training():
    one, two = trainer(), trainer()
    train(one, DATA, VALID)
    train(two, DATA)
    assert two.val_losses == []
    one.val_losses = []
    assert equal(one, two)


def test_dropout_is_on_while_training_and_off_afterwards():
    one, seen = trainer(), []
    drop = one.model.embedding.dropout
    drop.register_forward_hook(lambda part, *_: seen.append(part.training))
    train(one, DATA, VALID)
    assert seen == 3 * [True] + [False] + 3 * [True] + [False] + 2 * [True] + [
        False
    ]
    assert not any(part.training for part in one.model.modules())


class Given(nn.Module):
    """A model whose logits are given: (B, T, V)."""

    def __init__(self, logits):
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, ids):
        return self.logits[ids[:, 0]]


@pytest.fixture
def logits():
    torch.manual_seed(0)
    return 3 * torch.randn(5, 4, 7)


LABELS = torch.tensor(
    [[0, 6, 3, 1], [2, 2, 1, 1], [5, 1, 1, 1], [4, 4, 4, 4], [0, 3, 1, 1]]
)
ROWS = torch.arange(5)[:, None]  # ids that pick their own row of logits


class Table:
    """Data whose rows pick their own logits."""

    ignore = PAD

    def __len__(self):
        return 5

    def __getitem__(self, rows):
        return (ROWS[rows],), LABELS[rows]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 256])
def test_every_label_of_the_data_weighs_the_same(logits, size):
    flat = logits.flatten(0, 1), LABELS.flatten()
    mean = cross_entropy(*flat, ignore_index=PAD).item()
    loss = mean_loss(Given(logits), Table(), size)
    assert_close(loss, mean, rtol=1e-6, atol=0)


def test_the_mean_loss_has_no_dropout_and_no_gradients_and_leaves_no_trace():
    model = writer(dropout=0.5).train()
    model.decoder.blocks[1].eval()
    modes = [part.training for part in model.modules()]
    before = torch.get_rng_state()
    loss = mean_loss(model, text())
    assert loss == mean_loss(model, text())
    assert torch.get_rng_state().equal(before)
    assert [part.training for part in model.modules()] == modes
    assert all(weight.grad is None for weight in model.parameters())
    inputs, labels = text()[list(range(22))]
    with torch.no_grad():
        whole = loss_of(model.eval(), inputs, labels)
    assert_close(loss, whole.item(), rtol=1e-6, atol=0)


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
