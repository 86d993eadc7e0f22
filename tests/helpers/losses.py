"""Training losses as readers write them: right ones, those with one mistake,
and odd ones. Each stands beside its model."""

from functools import partial

import torch
from torch import nn
from torch.nn.functional import cross_entropy, kl_div

from tests.helpers.strangers import GPT

V, PAD = 50, 1
draw = torch.Generator().manual_seed(3)
WHOLE = torch.randint(2, V, (3, 8), generator=draw)
IDS = WHOLE.clone()  # of 21 labels 16 are words
IDS[1, 5:], IDS[2, 6:] = PAD, PAD


def costs(logits, labels, **options):
    """The mean over all labels that count."""
    options = {"ignore_index": PAD} | options
    return cross_entropy(logits.flatten(0, 1), labels.flatten(), **options)


def plain(model, x, **options):
    return costs(model(x)[:, :-1], x[:, 1:], **options)


def each(model, x):
    """The loss of each position, and which of them are words."""
    loss = cross_entropy(model(x)[:, :-1].mT, x[:, 1:], reduction="none")
    return loss, x[:, 1:] != PAD


def smoothed(model, x):
    """The Annotated Transformer's, whose model gives log_softmax."""
    logs, labels = model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()
    wanted = torch.full_like(logs, 0.1 / (V - 2))
    wanted.scatter_(1, labels[:, None], 0.9)
    wanted[:, PAD] = 0
    wanted[labels == PAD] = 0
    return kl_div(logs, wanted, reduction="sum") / (labels != PAD).sum()


def row_by_row(model, x):
    rows = [costs(model(row[None])[:, :-1], row[None, 1:]) for row in x]
    return sum(rows) / len(rows)


def prompted(model, x):
    labels = x.masked_fill(x == PAD, -100)
    labels[:, :3] = -100
    return costs(model(x)[:, :-1], labels[:, 1:], ignore_index=-100)


class Inside(nn.Module):
    """A model that computes its loss: it gives both, as nanoGPT does; logits
    (B T, V), as Bigrams have; or the loss alone."""

    def __init__(self, kind="both"):
        super().__init__()
        self.net, self.kind = GPT(), kind

    def forward(self, ids, labels=None):
        if labels is None:
            return self.net(ids)[:, [-1]], None
        logits = self.net(ids)
        if self.kind == "flat":
            logits = logits.flatten(0, 1)
        loss = cross_entropy(
            logits.view(-1, V), labels.flatten(), ignore_index=PAD
        )
        return loss if self.kind == "alone" else (logits, loss)


class PositionsFirst(GPT):
    """(B, T) -> (T, B, V)"""

    def forward(self, ids):
        return super().forward(ids).transpose(0, 1)


def log_probabilities():
    return nn.Sequential(GPT(), nn.LogSoftmax(-1))


RIGHT = {
    "cut after": (GPT, plain),
    "smoothing": (GPT, partial(plain, label_smoothing=0.1)),
    "Annotated": (log_probabilities, smoothed),
    "flat": (lambda: Inside("flat"), lambda m, x: m(x[:, :-1], x[:, 1:])[1]),
    "alone": (lambda: Inside("alone"), lambda m, x: m(x[:, :-1], x[:, 1:])),
    "positions first": (
        PositionsFirst,
        lambda m, x: costs(m(x)[:-1], x.T[1:]),
    ),
    "row by row": (GPT, row_by_row),
    "prompted": (GPT, prompted),
}


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
    "padding counts": (GPT, partial(plain, ignore_index=-100)),
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
