"""The training loop and its losses against PyTorch's own parts, and sums;
what stops it, and what it keeps then."""

import math
from copy import deepcopy
from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

from tests.helpers.learning import (
    RECIPE,
    Watched,
    cut,
    equal,
    text,
    trainer,
    writer,
)
from tformer_lite import Recipe, Trainer, load_checkpoint, mean_loss, train
from tformer_lite.text.tokenizers import PAD
from tformer_lite.training import trainer as module
from tformer_lite.training.batches import Sample, batches, loss_of
from tformer_lite.training.checkpoints import newest_path

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
    first, again, other = trainer(), trainer(), trainer(seed=6)
    train(first, DATA, VALID)
    torch.manual_seed(99)
    train(again, DATA, VALID)
    train(other, DATA, VALID)
    assert equal(first, again)
    assert not equal(first, other)


def test_validation_changes_nothing_in_the_training():
    noted, plain = trainer(), trainer()
    train(noted, DATA, VALID)
    train(plain, DATA)
    assert plain.val_losses == []
    noted.val_losses, noted.best = [], noted.model
    assert equal(noted, plain)


def test_dropout_is_on_while_training_and_off_afterwards():
    run, modes = trainer(), []
    drop = run.model.embedding.dropout
    drop.register_forward_hook(lambda part, *_: modes.append(part.training))
    train(run, DATA, VALID)
    assert modes == 3 * [True] + [False] + 3 * [True] + [False] + 2 * [
        True
    ] + [False]
    assert not any(part.training for part in run.model.modules())


IDS = torch.randint(11, (5, 4), generator=torch.Generator().manual_seed(0))
LABELS = torch.tensor(
    [[0, 6, 3, 1], [2, 2, 1, 1], [5, 1, 1, 1], [4, 4, 4, 4], [0, 3, 1, 1]]
)


class Padded:
    """Rows with more or fewer labels that are padding."""

    ignore = PAD

    def __len__(self):
        return len(IDS)

    def __getitem__(self, rows):
        return (IDS[rows],), LABELS[rows]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 256])
def test_every_label_of_the_data_weighs_the_same(size):
    model = writer().eval()
    torch.nn.init.normal_(model.head.weight)
    flat = model(IDS).flatten(0, 1), LABELS.flatten()
    mean = cross_entropy(*flat, ignore_index=PAD).item()
    loss = mean_loss(model, Padded(), size)
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
        mean = loss_of(model.eval(), inputs, labels)
    assert_close(loss, mean.item(), rtol=1e-6, atol=0)


@pytest.mark.slow
def test_a_note_looks_at_a_sample_and_always_at_the_same():
    """An eighth of 3 times 800 rows learned from are 300."""
    rows_seen, big = [], text(2000, seed=2)
    run = trainer(batch_size=800)
    train(run, text(900), Watched(big, rows_seen.extend))
    assert len(rows_seen) == 3 * 300
    assert rows_seen[:300] == rows_seen[300:600] == rows_seen[600:]
    gaps = {b - a for a, b in pairwise(rows_seen[:300])}
    assert gaps == {6, 7}  # 2000 / 300
    assert rows_seen[0] + 2000 - rows_seen[299] in (6, 7)
    assert run.val_losses[-1] == mean_loss(run.model, Sample(big, 300))


# --- What stops it --------------------------------------------------------


class Bad:
    """A model whose loss, or gradient, is no number from some call on."""

    def __init__(self, run, calls, bend):
        self.left = calls
        self.bend = bend
        run.model.head.register_forward_hook(self)

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
    ],
)
@pytest.mark.parametrize("clip", [1.0, math.inf])
def test_it_stops_before_a_step_that_would_spoil_the_weights(
    path, bend, said, clip
):
    run = trainer(clip=clip)
    Bad(run, 4, bend)
    with pytest.raises(FloatingPointError, match=f"{said}.* rate of 0.00"):
        train(run, DATA, VALID, path)
    assert run.step == 4
    assert len(load_checkpoint(newest_path(path)).val_losses) == 1
    assert all(w.isfinite().all() for w in run.model.parameters())


def test_a_note_of_no_number_replaces_no_file(path):
    run = trainer()

    def spoil(optimizer, *_):
        if run.step == 5:
            run.model.head.weight.data[0, 0] = math.nan

    run.optimizer.register_step_post_hook(spoil)
    said = "the validation loss of step 6 is nan, .* a longer warmup"
    with pytest.raises(FloatingPointError, match=said):
        train(run, DATA, VALID, path)
    for file in path, newest_path(path):
        model = load_checkpoint(file).model
        assert all(w.isfinite().all() for w in model.parameters())


@pytest.fixture
def told(monkeypatch):
    """Validation losses that the test chooses."""

    def tell(*losses):
        losses = iter(losses)
        monkeypatch.setattr(module, "mean_loss", lambda *_: next(losses))

    return tell


def alike(weights, other):
    return all(weights[name].equal(other[name]) for name in weights)


@pytest.mark.slow
@pytest.mark.parametrize("patience", [None, 3])
@pytest.mark.parametrize(
    ("losses", "best"),
    [
        ([5, 4, 3, 3.5, 3.2, 3.1], 2),
        ([1, 2, 3, 4], 0),
        ([5, 4, 4, 4, 4], 1),  # as low is not lower
        ([5, 6, 6, 4, 5, 5, 3, 9, 9, 9], 6),
    ],
)
def test_the_best_weights_are_kept_and_the_newest_and_patience_ends_it(
    told, path, losses, best, patience
):
    told(*losses)
    steps = 2 * len(losses) if patience is None else 60
    run = trainer(steps=steps, every=2, lr=0.03, patience=patience)
    states = []

    def note(noted):
        states.append(deepcopy(noted.model.state_dict()))

    train(run, DATA, VALID, path, at_note=note)
    assert (run.val_losses, run.step) == (losses, 2 * len(losses))
    last = states[-1] if patience is None else states[best]
    assert alike(run.model.state_dict(), last)
    assert alike(run.best.state_dict(), states[best])
    assert not alike(states[best], states[-1])
    for file, weights in (path, states[best]), (newest_path(path), states[-1]):
        kept = load_checkpoint(file)
        assert alike(kept.model.state_dict(), weights)
        assert kept.val_losses == losses
        assert kept.train_losses == run.train_losses


def test_patience_without_validation_data_is_refused(tmp_path):
    run = trainer(patience=3)
    with pytest.raises(ValueError, match="patience=3 waits .* validation"):
        train(run, DATA, save=tmp_path / "model.pt")
    assert run.step == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fetch", [1, 3, 5, 8])
def test_ctrl_c_keeps_the_best_weights_and_the_newest(path, fetch):
    """A batch is fetched for each step, and the third and sixth are noted."""
    run = trainer()
    begun = deepcopy(run.model.state_dict())
    with pytest.raises(KeyboardInterrupt):
        train(run, cut(fetch), VALID, path)
    assert run.step == fetch - 1
    assert not any(part.training for part in run.model.modules())
    newest = load_checkpoint(newest_path(path)).model.state_dict()
    assert alike(newest, run.model.state_dict())
    best = load_checkpoint(path).model.state_dict()
    assert alike(best, run.best.state_dict())
    assert alike(newest, begun) == (fetch == 1)
