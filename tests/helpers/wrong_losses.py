"""Training losses as readers write them, each with one mistake: the model,
and the loss."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy, log_softmax, one_hot

from tests.helpers.losses import (
    IDS,
    PAD,
    V,
    after,
    costs,
    each,
    flattened,
    negative_log,
    plain,
    probabilities,
)
from tests.helpers.strangers import GPT


def by_axis(axis):
    """The softmax over another axis."""

    def loss(model, x):
        logs = log_softmax(model(x)[:, :-1], axis)
        found = logs.gather(-1, x[:, 1:, None])[..., 0]
        return -found[x[:, 1:] != PAD].mean()

    return loss


def scrambled(model, x):
    logits = model(x)[:, :-1]
    wanted = x[:, 1:]
    return cross_entropy(
        logits.reshape(len(x), V, -1), wanted, ignore_index=PAD
    )


def soft(model, x):
    """Probabilities as labels: the axis of words should be the second."""
    return cross_entropy(model(x)[:, :-1], one_hot(x[:, 1:], V).float())


def upside_down(model, x):
    loss, words = each(model, x)
    return (loss * ~words).sum() / (~words).sum()


def of_inputs(model, x):
    loss, _ = each(model, x)
    words = x[:, :-1] != PAD
    return loss[words].mean()


def by_all(model, x):
    loss, words = each(model, x)
    return (loss * words).mean()


def without_words(model, x):
    loss, words = each(model, x)
    return ((loss * words).sum(1) / words.sum(1)).mean()


def unlikely(model, x):
    """1 minus the probability of the right words, as robust losses are."""
    shares = model(x)[:, :-1].softmax(-1).gather(-1, x[:, 1:, None])[..., 0]
    return (1 - shares)[x[:, 1:] != PAD].mean()


def wrong_share(model, x):
    return (model(x)[:, :-1].argmax(-1) != x[:, 1:]).float().mean()


def unheard(model, x):
    with torch.no_grad():
        return plain(model, x)


def of_two_runs(model, x):
    """Two runs that give the same, and each is read in another way."""
    sums = model(x)[:, :-1].logsumexp(-1)
    return (sums - model(x)[:, :-1].gather(-1, x[:, 1:, None])[..., 0]).mean()


def without_one(model, x):
    labels = x.masked_fill(x == IDS[0, 2], PAD)
    return costs(model(x)[:, :-1], labels[:, 1:])


def rows_sorted(model, x):
    order = (x != PAD).sum(1).argsort()
    return costs(model(x)[:, :-1], x[order, 1:])


WRONG = {
    "not shifted": (GPT, lambda m, x: costs(m(x), x)),
    "shifted twice": (GPT, lambda m, x: costs(m(x)[:, :-2], x[:, 2:])),
    "shifted back": (GPT, lambda m, x: costs(m(x)[:, 1:], x[:, :-1])),
    "rolled": (GPT, lambda m, x: costs(m(x), x.roll(-1, 1))),
    "other rows": (GPT, rows_sorted),
    "labels turned": (GPT, lambda m, x: costs(m(x)[:, :-1], x[:, 1:].T)),
    "wrong sign": (GPT, lambda m, x: -plain(m, x)),
    "softmax twice": (GPT, after(lambda x: x.softmax(-1))),
    "smoothed twice": (
        GPT,
        after(lambda x: x.softmax(-1), label_smoothing=0.1),
    ),
    "no logarithm": (probabilities, negative_log),
    "no softmax": (GPT, negative_log),
    "softmax over positions": (GPT, by_axis(1)),
    "softmax over rows": (GPT, by_axis(0)),
    "view": (GPT, scrambled),
    "flattened as (0, 2, 1)": (GPT, flattened(0, 2, 1)),
    "padding counts": (GPT, after(lambda x: x, ignore_index=-100)),
    "padding counts alone": (GPT, upside_down),
    "padding counts in two runs": (GPT, of_two_runs),
    "a number": (GPT, lambda m, x: plain(m, x).item()),
    "argmax": (GPT, wrong_share),
    "times 0": (GPT, lambda m, x: plain(m, x) * 0),
    "of no model": (GPT, lambda m, x: costs(torch.zeros(3, 7, V), x[:, 1:])),
    "does not fit": (GPT, lambda m, x: cross_entropy(m(x), x)),
    "NaN": (
        GPT,
        lambda m, x: -m(x)[:, :-1].log().gather(-1, x[:, 1:, None]).mean(),
    ),
}
ODD = {
    "words of the mask": (GPT, of_inputs),
    "how unlikely": (GPT, unlikely),
    "divided by all": (GPT, by_all),
    "nothing to divide": (GPT, without_words),
    "the last is cut": (GPT, lambda m, x: costs(m(x)[:, :-2], x[:, 1:-1])),
    "the first is cut": (GPT, lambda m, x: costs(m(x)[:, 1:-1], x[:, 2:])),
    "a row is left out": (GPT, lambda m, x: costs(m(x)[1:, :-1], x[1:, 1:])),
    "a word is ignored": (GPT, without_one),
    "one is asked for another": (
        GPT,
        lambda m, x: costs(m(x)[:, :-1], x[:, 1:].clamp(max=30)),
    ),
}


class Sizes(nn.Module):
    """A model without a row for each position."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(V, 8), nn.Linear(8, 3)

    def forward(self, ids):
        return self.head(self.words(ids).mean(1))
