"""Training losses as readers write them, each with one mistake: the model,
the loss, the check that finds it, its level, and what it says."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy, log_softmax, one_hot

from tests.helpers.losses import (
    IDS,
    PAD,
    Inside,
    PositionsFirst,
    V,
    after,
    costs,
    each,
    flattened,
    log_probabilities,
    negative_log,
    plain,
    probabilities,
    smoothed,
)
from tests.helpers.strangers import GPT

NEXT, SOFTMAX = "next_word", "loss_softmax"
PADDING, WORDS = "padding_in_loss", "words_in_loss"
GRADIENT = "loss_gradient"


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


def scrambled_twice(model, x):
    logits = model(x)
    columns = logits.reshape(V, -1).T
    return cross_entropy(columns, x.flatten(), ignore_index=PAD)


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


def of_noise(model, x):
    logits = torch.randn(3, 7, V, requires_grad=True)
    return costs(logits + 0 * model(x)[:, :-1].detach(), x[:, 1:])


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
    "not shifted": (
        GPT,
        lambda m, x: costs(m(x), x),
        NEXT,
        "not shifted",
    ),
    "neither of two": (
        GPT,
        lambda m, x: costs(m(x[:, 1:]), x[:, 1:]),
        NEXT,
        "not shifted",
    ),
    "not shifted inside": (
        Inside,
        lambda m, x: m(x, x)[1],
        NEXT,
        "not shifted",
    ),
    "not shifted alone": (
        lambda: Inside("alone"),
        lambda m, x: m(x, x),
        NEXT,
        "not shifted",
    ),
    "shifted twice": (
        GPT,
        lambda m, x: costs(m(x)[:, :-2], x[:, 2:]),
        NEXT,
        "shifted twice",
    ),
    "shifted back": (
        GPT,
        lambda m, x: costs(m(x)[:, 1:], x[:, :-1]),
        NEXT,
        "the wrong way",
    ),
    "rolled": (
        GPT,
        lambda m, x: costs(m(x), x.roll(-1, 1)),
        NEXT,
        "torch.roll",
    ),
    "other rows": (GPT, rows_sorted, NEXT, "the words of row 1"),
    "labels turned": (
        GPT,
        lambda m, x: costs(m(x)[:, :-1], x[:, 1:].T),
        NEXT,
        "another order",
    ),
    "logits turned": (
        GPT,
        lambda m, x: costs(m(x)[:, :-1].transpose(0, 1), x[:, 1:]),
        NEXT,
        "another order",
    ),
    "positions first": (
        PositionsFirst,
        lambda m, x: costs(m(x)[:-1], x[:, 1:]),
        NEXT,
        "another order",
    ),
    "wrong sign": (GPT, lambda m, x: -plain(m, x), NEXT, "its sign"),
    "mean of log": (
        log_probabilities,
        lambda m, x: -negative_log(m, x),
        NEXT,
        "its sign",
    ),
    "softmax twice": (
        GPT,
        after(lambda x: x.softmax(-1)),
        SOFTMAX,
        "taken twice",
    ),
    "smoothed twice": (
        GPT,
        after(lambda x: x.softmax(-1), label_smoothing=0.1),
        SOFTMAX,
        "taken twice",
    ),
    "softmax in the model": (probabilities, plain, SOFTMAX, "taken twice"),
    "no logarithm": (probabilities, negative_log, SOFTMAX, "minus the prob"),
    "no log there": (
        GPT,
        lambda m, x: negative_log(lambda x: m(x).softmax(-1), x),
        SOFTMAX,
        "minus the prob",
    ),
    "no softmax": (GPT, negative_log, SOFTMAX, "no softmax"),
    "no softmax to compare": (GPT, smoothed, SOFTMAX, "no softmax"),
    "softmax over positions": (GPT, by_axis(1), SOFTMAX, "over positions"),
    "softmax over rows": (GPT, by_axis(0), SOFTMAX, "over rows"),
    "view": (GPT, scrambled, SOFTMAX, "mixed"),
    "view of all": (GPT, scrambled_twice, SOFTMAX, "mixed"),
    **{
        f"flattened as {x}": (GPT, flattened(*x), SOFTMAX, "mixed")
        for x in ((0, 2, 1), (2, 0, 1), (1, 2, 0))
    },
    "soft labels": (GPT, soft, SOFTMAX, "over positions"),
    "padding counts": (
        GPT,
        after(lambda x: x, ignore_index=-100),
        PADDING,
        "for [PAD]",
    ),
    "padding counts alone": (GPT, upside_down, PADDING, "for [PAD]"),
    "padding counts in two runs": (GPT, of_two_runs, PADDING, "for [PAD]"),
    "a number": (GPT, lambda m, x: plain(m, x).item(), GRADIENT, ".item()"),
    "argmax": (GPT, wrong_share, GRADIENT, "argmax"),
    "detached": (
        GPT,
        after(lambda x: x.detach()),
        GRADIENT,
        "has no gradient",
    ),
    "no_grad": (GPT, unheard, GRADIENT, "has no gradient"),
    "times 0": (GPT, lambda m, x: plain(m, x) * 0, GRADIENT, "depend"),
    "of noise": (GPT, of_noise, GRADIENT, "depend"),
    "of no model": (
        GPT,
        lambda m, x: costs(torch.zeros(3, 7, V), x[:, 1:]),
        GRADIENT,
        "reaches a parameter",
    ),
    "does not fit": (
        GPT,
        lambda m, x: cross_entropy(m(x), x),
        GRADIENT,
        "The loss fails: RuntimeError",
    ),
    "NaN": (
        GPT,
        lambda m, x: -m(x)[:, :-1].log().gather(-1, x[:, 1:, None]).mean(),
        GRADIENT,
        "is nan",
    ),
}
ODD = {
    "words of the mask": (GPT, of_inputs, PADDING, "the first one after"),
    "how unlikely": (GPT, unlikely, SOFTMAX, "The logarithm is missing"),
    "divided by all": (GPT, by_all, PADDING, "divided by 21"),
    "nothing to divide": (GPT, without_words, PADDING, "padding alone"),
    "the last is cut": (
        GPT,
        lambda m, x: costs(m(x)[:, :-2], x[:, 1:-1]),
        WORDS,
        "the last of rows",
    ),
    "the first is cut": (
        GPT,
        lambda m, x: costs(m(x)[:, 1:-1], x[:, 2:]),
        WORDS,
        "the second of rows",
    ),
    "a row is left out": (
        GPT,
        lambda m, x: costs(m(x)[1:, :-1], x[1:, 1:]),
        WORDS,
        "none of row 0",
    ),
    "a word is ignored": (GPT, without_one, WORDS, "not asked for"),
    "one is asked for another": (
        GPT,
        lambda m, x: costs(m(x)[:, :-1], x[:, 1:].clamp(max=30)),
        NEXT,
        "of the positions",
    ),
}


class Sizes(nn.Module):
    """A model without a row for each position."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(V, 8), nn.Linear(8, 3)

    def forward(self, ids):
        return self.head(self.words(ids).mean(1))
