"""Training losses as readers write them, each with one mistake: the model,
and the loss."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from tests.helpers.losses import PAD, V, after, costs, each, plain
from tests.helpers.strangers import GPT


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


def wrong_share(model, x):
    return (model(x)[:, :-1].argmax(-1) != x[:, 1:]).float().mean()


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
    "padding counts": (GPT, after(lambda x: x, ignore_index=-100)),
    "padding counts alone": (GPT, upside_down),
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
    "divided by all": (GPT, by_all),
    "nothing to divide": (GPT, without_words),
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
