"""What a loss asks of a model: no right loss is called a bug, and each mistake
is named."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from shapewatch.properties.reporting import LOSS_CHECKS
from tests.helpers.losses import (
    IDS,
    PAD,
    RIGHT,
    WHOLE,
    Inside,
    V,
    costs,
    plain,
)
from tests.helpers.strangers import GPT
from tformer_lite import report, running_example, running_model
from tformer_lite.training.batches import loss_of

NAMES = [check.__name__ for check in LOSS_CHECKS]


def asked(model, *inputs, **known):
    """The findings of all checks of a loss, by name."""
    return {
        x.name: x for x in (f(model, *inputs, **known) for f in LOSS_CHECKS)
    }


@pytest.mark.full
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_loss_has_every_property(name):
    kind, loss = RIGHT[name]
    findings = asked(kind(), IDS, loss=loss, pad=PAD)
    assert all(x.holds for x in findings.values()), findings


@pytest.mark.slow
def test_a_report_has_them_where_there_is_a_loss():
    model = GPT()
    with_loss = report(model, IDS, pad=PAD, loss=lambda m, x: costs(m(x), x))
    assert [x.name for x in with_loss.findings][-len(NAMES) :] == NAMES
    assert with_loss.broken == ["next_word"]
    plainly = report(model, IDS, pad=PAD)
    assert not {x.name for x in plainly.findings} & {*NAMES}
    assert plainly.broken == []


@pytest.mark.slow
@pytest.mark.parametrize("cut", [False, True])
def test_our_own_models_and_losses_have_every_property(cut):
    batch = running_example()

    def loss(model, src, tgt):
        inputs, labels = (src, tgt), batch.labels
        if cut:
            inputs, labels = (src, tgt[:, :-1]), tgt[:, 1:]
        return loss_of(model, inputs, labels, ignore_index=PAD)

    findings = asked(running_model(), *batch[:2], loss=loss)
    assert all(x.holds for x in findings.values()), findings


@pytest.mark.slow
def test_a_loss_of_whole_rows_is_not_said_to_be_wrong():
    def alike(model, x):
        rows = model(x).mean(1)
        return cross_entropy(rows @ rows.T, torch.arange(len(x)))

    for seed in range(5):
        torch.manual_seed(seed)
        findings = asked(GPT(), IDS, loss=alike, pad=PAD)
        assert "broken" not in {x.level for x in findings.values()}, findings
        assert findings["next_word"].holds is None


@pytest.mark.slow
def test_who_may_hear_the_future_is_asked_for_words_that_were_hidden():
    def loss(model, x):
        hidden = torch.rand(x.shape) < 0.4
        labels = x.masked_fill(~hidden, -100)
        return costs(
            model(x.masked_fill(hidden, 0)), labels, ignore_index=-100
        )

    for causal in (True, False):
        findings = asked(GPT(), WHOLE, loss=loss, causal=causal)
        assert findings["next_word"].holds is None


UNJUDGED = {
    "no loss": (GPT, IDS, None, "There is no loss: give loss="),
    "of logits": (GPT, IDS, cross_entropy, "not of logits. loss(model, ids)"),
    "vectors": (
        lambda: nn.Linear(4, 9),
        torch.randn(2, 5, 4),
        lambda m, x: m(x).sum(),
        "no target words",
    ),
    "classes": (
        lambda: nn.Sequential(nn.Embedding(V, 1), nn.Flatten()),
        IDS,
        lambda m, x: cross_entropy(m(x), torch.tensor([0, 1, 2])),
        "one row a position",
    ),
    "no scalar": (
        GPT,
        IDS,
        lambda m, x: costs(m(x)[:, :-1], x[:, 1:], reduction="none"),
        "The loss gave a tensor (21,). loss(model, ids) is called ",
    ),
    "one position": (GPT, IDS[:, :1], plain, "no next word"),
    "a pair": (Inside, IDS, lambda m, x: m(x, x), "The loss gave tuple"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNJUDGED)
def test_what_cannot_be_judged_says_why(name):
    kind, x, loss, says = UNJUDGED[name]
    findings = asked(kind(), x, loss=loss)
    assert says in findings["next_word"].says
    assert [x.holds for x in findings.values()] == [None] * len(NAMES)
