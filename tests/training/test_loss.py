"""The loss of a batch and of a data set, against sums done by hand."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.helpers.learning import text, writer
from tformer_lite import (
    EncoderDecoder,
    Pairs,
    english_nepali,
    english_tokenizer,
    mean_loss,
    nepali_tokenizer,
    running_example,
    tiny_translator,
)
from tformer_lite.text.tokenizers import PAD
from tformer_lite.training.batches import loss_of


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


def by_hand(logits, labels, ignore, smoothing=0.0):
    """The loss of each label that counts: - sum of q * log p."""
    losses = []
    for row, ids in zip(logits.tolist(), labels.tolist()):
        for scores, i in zip(row, ids):
            if i != ignore:
                total = math.log(sum(math.exp(z) for z in scores))
                logs = [z - total for z in scores]
                even = sum(logs) / len(logs)
                losses.append(-((1 - smoothing) * logs[i] + smoothing * even))
    return losses


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("ignore", [1, -100])
def test_the_loss_is_the_mean_over_the_labels_that_count(
    logits, smoothing, ignore
):
    options = {"ignore_index": ignore, "label_smoothing": smoothing}
    loss = loss_of(Given(logits), (ROWS,), LABELS, **options)
    hand = by_hand(logits, LABELS, ignore, smoothing)
    assert len(hand) == (12 if ignore == 1 else 20)
    assert loss.shape == ()
    assert_close(loss.item(), sum(hand) / len(hand), rtol=1e-6, atol=0)


def test_logits_at_padding_change_nothing_and_get_no_gradient(logits):
    model = Given(logits)
    loss = loss_of(model, (ROWS,), LABELS, ignore_index=PAD)
    loss.backward()
    padding = LABELS == PAD
    assert not model.logits.grad[padding].any()
    assert model.logits.grad[~padding].any(-1).all()
    model.logits.data[padding] += 5 * torch.randn(7)
    assert loss_of(model, (ROWS,), LABELS, ignore_index=PAD) == loss


class Table:
    """Data whose rows pick their own logits."""

    ignore = PAD

    def __len__(self):
        return 5

    def __getitem__(self, rows):
        return (ROWS[rows],), LABELS[rows]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 256])
def test_every_label_of_the_data_weighs_the_same(logits, size):
    hand = by_hand(logits, LABELS, PAD)
    loss = mean_loss(Given(logits), Table(), size)
    assert_close(loss, sum(hand) / len(hand), rtol=1e-6, atol=0)


def test_a_mean_over_batches_would_weigh_a_short_last_one_too_much(logits):
    """As source 002 does: its mean is over the batches of the data."""
    each = [
        loss_of(Given(logits), (ROWS[i],), LABELS[i], ignore_index=PAD).item()
        for i in torch.arange(5).split(4)
    ]
    hand = by_hand(logits, LABELS, PAD)
    true = sum(hand) / len(hand)
    assert abs(sum(each) / len(each) - true) > 0.1
    assert abs(mean_loss(Given(logits), Table(), 4) - true) < 1e-6


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


@pytest.mark.parametrize("seed", range(4))
def test_a_fresh_translator_starts_at_the_loss_of_a_guess_ln_1024(seed):
    torch.manual_seed(seed)
    model = EncoderDecoder(tiny_translator)
    batch = running_example()
    inputs = batch.src, batch.tgt
    loss = loss_of(model, inputs, batch.labels, ignore_index=PAD)
    assert abs(loss.item() - math.log(1024)) < 0.1
    pairs = english_nepali("valid")
    data = Pairs(pairs, english_tokenizer(), nepali_tokenizer())
    assert abs(mean_loss(model, data) - math.log(1024)) < 0.1


def test_a_model_finds_its_own_device_for_the_batch():
    """On the device "meta" there are shapes, and no values."""
    model = Given(torch.zeros(5, 4, 7, device="meta"))
    loss = loss_of(model, (ROWS,), LABELS)
    assert loss.device.type == "meta"


def test_labels_may_be_whole_numbers_of_half_the_size():
    model, data = writer().eval(), text()
    (ids,), labels = data[[0, 1]]
    wanted = loss_of(model, (ids,), labels)
    assert loss_of(model, (ids.int(),), labels.int()).equal(wanted)
