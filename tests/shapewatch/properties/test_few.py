"""A wide last matrix needs few rows to show what moves; and no run that has
been made is made again."""

import pytest
import torch
from torch import nn

from shapewatch.properties import causality, perturbation
from shapewatch.properties.perturbation import few_outputs, raw_output
from shapewatch.properties.subject import Subject
from tests.helpers.strangers import GPT, IDS

WIDE = 200  # logits, of 16 channels


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch):
    monkeypatch.setattr(perturbation, "LARGE", 100)


class Wide(GPT):
    """A vocabulary that is large for so few channels."""

    def __init__(self, **options):
        super().__init__(**options)
        self.head = nn.Linear(16, WIDE, bias=False)


class Written(Wide):
    """Writes into its logits."""

    def forward(self, ids):
        logits = super().forward(ids)
        logits[:, :-1, 7] += ids[:, 1:]
        return logits


class Twice(Wide):
    """Has a second head, which gives the first what it adds."""

    def __init__(self):
        super().__init__()
        self.other = nn.Linear(16, WIDE)


class Peeps(Wide):
    """Hears the next position before its head."""

    def forward(self, ids):
        x = self.tokens(ids) + 1e-3 * self.tokens(ids).roll(-1, 1)
        return self.head(self.norm(x))


def of(model):
    torch.manual_seed(0)
    return Subject(model().eval(), (IDS,))


def test_few_outputs_are_some_of_all_and_their_rows_are_in_one_memory():
    subject = of(Wide)
    other, step = few_outputs(subject), WIDE // 16
    torch.testing.assert_close(
        raw_output(other), raw_output(subject)[..., ::step]
    )
    whole, some = subject.model.head.weight, other.model.head.weight
    assert some.data_ptr() == whole.data_ptr()
    assert raw_output(other).shape == (2, 7, 17)
    assert few_outputs(other) is other


@pytest.mark.parametrize("model", [GPT, Written, Twice, lambda: Wide(cap=9.0)])
def test_all_are_asked_where_something_comes_after_the_matrix(model):
    subject = of(model)
    assert few_outputs(subject) is subject


@pytest.mark.slow
def test_what_few_outputs_tell_is_what_all_tell():
    assert not causality(Peeps(), IDS).holds
    assert not causality(Written(), IDS).holds
    assert causality(Wide(), IDS).holds
