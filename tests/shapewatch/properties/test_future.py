"""No way in which the future could be heard escapes, and no other alarms."""

import pytest
import torch
from torch import nn
from torch.nn.functional import one_hot, pad

from shapewatch.properties import causality
from shapewatch.properties.dependence import with_others
from shapewatch.properties.subject import Subject
from tests.helpers.strangers import GPT, IDS, PADDED


class Adds(GPT):
    """Adds the next id to the logits, where no vector is."""

    def forward(self, ids):
        return super().forward(ids) + 5 * one_hot(ids.roll(-1, 1), 50)


class WhenTraining(GPT):
    """In training, each position adds the next one."""

    def forward(self, ids):
        x = super().forward(ids)
        return x + pad(x[:, 1:], (0, 0, 0, 1)) if self.training else x


class ByLength(GPT):
    """Divides by how many words there are."""

    def forward(self, ids):
        return super().forward(ids) / ids.shape[1]


class OverTime(GPT):
    """Batch-norm over all positions."""

    def __init__(self):
        super().__init__()
        self.over = nn.BatchNorm1d(50)

    def forward(self, ids):
        return self.over(super().forward(ids).mT).mT


LEAKS = {
    Adds: "Sequence 0: position 0 moves when the ids from position 1 on",
    WhenTraining: "Sequence 0: in training, position 0 moves when those from",
    ByLength: "position 0 changes when the input ends before",
    OverTime: "Sequence 0: in training",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LEAKS, ids=lambda kind: kind.__name__)
def test_the_future_is_found_wherever_it_comes_in(kind):
    finding = causality(kind(), IDS)
    assert finding.level == "broken"
    assert LEAKS[kind] in finding.says
    assert finding.seen.triu(1).any()


class Experts(GPT):
    """Some words go through a layer of their own, with dropout."""

    def __init__(self):
        super().__init__()
        self.own = nn.Sequential(nn.Linear(50, 50), nn.Dropout(0.5))

    def forward(self, ids):
        logits, some = super().forward(ids), ids % 2 == 0
        logits[some] = self.own(logits[some])
        return logits


class Counts(GPT):
    """Another one in each run of its training."""

    def forward(self, ids):
        noise = torch.rand(1) if self.training else 0
        return super().forward(ids) + noise


class Stands(GPT):
    """Takes sentences of 7 words, and no others."""

    def forward(self, ids):
        return super().forward(ids.view(-1, 7))


@pytest.mark.parametrize("kind", [GPT, Experts, Counts, Stands])
def test_what_hears_no_future_raises_no_alarm(kind):
    finding = causality(kind(), IDS)
    refused = " Shorter inputs are refused." * (kind is Stands)
    assert finding.holds, finding
    assert finding.says == f"No position depends on a later one.{refused}"


def test_later_ids_become_others_that_occur_and_padding_stays():
    subject = Subject(GPT(), (PADDED,), pad=1)
    (others,) = with_others(subject, 3)
    changed = others != PADDED
    assert changed.equal((torch.arange(7) >= 3) & (PADDED != 1))
    assert set(others.unique().tolist()) <= set(PADDED.unique().tolist())
