"""The training loop against PyTorch's own parts, step by step."""

import math
from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

from tests.helpers.learning import RECIPE, equal, text, trainer, writer
from tformer_lite import (
    EncoderDecoder,
    Pairs,
    Recipe,
    Trainer,
    english_nepali,
    english_tokenizer,
    load_checkpoint,
    mean_loss,
    nepali_tokenizer,
    tiny_translator,
    train,
)
from tformer_lite.training.batches import batches

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


def test_the_translator_learns_by_the_same_loop():
    pairs = english_nepali("valid")[:12]
    data = Pairs(pairs, english_tokenizer(), nepali_tokenizer())
    torch.manual_seed(0)
    mine = Trainer(EncoderDecoder(tiny_translator).double(), RECIPE)
    theirs = deepcopy(mine.model)
    train(mine, data)
    by_hand(theirs, RECIPE, data)
    for here, there in zip(mine.model.parameters(), theirs.parameters()):
        assert_close(here, there, atol=1e-8, rtol=0)


@pytest.mark.slow
def test_the_loss_falls_and_is_noted_every_so_many_steps():
    one = trainer(steps=61, every=20)
    assert mean_loss(one.model, DATA) == pytest.approx(math.log(11), abs=0.1)
    train(one, DATA, VALID)
    assert one.step == 61
    assert len(one.train_losses) == len(one.val_losses) == 4
    assert one.train_losses[2] < one.train_losses[0] - 0.1
    assert mean_loss(one.model, DATA) < one.train_losses[0] - 0.3
    assert one.val_losses[-1] == mean_loss(one.model, VALID)


def test_whoever_asks_hears_of_each_note_before_the_file_has_it(tmp_path):
    one, path, heard = trainer(), tmp_path / "model.pt", []

    def hear(noted):
        there = load_checkpoint(path).train_losses if path.exists() else []
        heard.append((noted.step, list(noted.train_losses), there))

    train(one, DATA, VALID, path, at_note=hear)
    losses = one.train_losses
    assert heard == [
        (step, losses[: i + 1], losses[:i]) for i, step in enumerate((3, 6, 8))
    ]


@pytest.mark.parametrize("clip", [0.01, 0.1])
def test_the_norm_of_all_gradients_together_is_clipped(clip):
    one = trainer(clip=clip)
    train(one, DATA)
    squares = [w.grad.square().sum() for w in one.model.parameters()]
    assert_close(sum(squares).sqrt().item(), clip, rtol=1e-3, atol=0)


def test_each_step_has_its_own_learning_rate():
    rates = []

    def watched(step, recipe):
        rates.append(step)
        return 1 / step

    one = trainer(schedule=watched)
    train(one, DATA)
    assert rates == list(range(1, 9))
    assert one.optimizer.param_groups[0]["lr"] == 0.01 / 8


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


def test_the_readers_random_numbers_are_left_alone(tmp_path):
    one = trainer()
    before = torch.get_rng_state()
    train(one, DATA, VALID, tmp_path / "model.pt")
    assert torch.get_rng_state().equal(before)


def test_dropout_is_on_while_training_and_off_afterwards():
    one, seen = trainer(), []
    drop = one.model.embedding.dropout
    drop.register_forward_hook(lambda part, *_: seen.append(part.training))
    train(one, DATA, VALID)
    assert seen == 3 * [True] + [False] + 3 * [True] + [False] + 2 * [True] + [
        False
    ]
    assert not any(part.training for part in one.model.modules())


def test_fewer_rows_than_a_batch_are_enough():
    one = trainer(batch_size=64)
    train(one, text(3))
    assert one.step == 8
    assert all(map(math.isfinite, one.train_losses))
