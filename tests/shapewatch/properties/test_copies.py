"""Many runs in one batch find what they find one by one, or are not made."""

from queue import SimpleQueue

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from shapewatch.properties import perturbation, report
from shapewatch.properties.inputs import FailedError
from shapewatch.properties.perturbation import (
    NoisyRun,
    batched_outputs,
    in_batches,
    reach,
)
from shapewatch.properties.subject import Subject
from tests.helpers.strangers import GPT, IDS, MASK, PADDED, PLACES, WithMasks
from tformer_lite import causal_mask

ROWS = torch.randn(2, 7, 16, generator=torch.Generator().manual_seed(0))


class OverRows(nn.Module):
    """Takes away the mean of all rows."""

    def forward(self, x):
        return x.cumsum(1) - x.mean(0)


class Capacity(nn.Module):
    """Changes the first 20 positions of a batch, and no more."""

    def forward(self, x):
        few = torch.arange(x.shape[:2].numel()).view(x.shape[:2]) < 20
        return x.cumsum(1) * (1 + few)[..., None]


class FixedBatch(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("start", torch.randn(2, 1, 16))

    def forward(self, x):
        return x.cumsum(1) + self.start


class Refuses(nn.Module):
    def forward(self, x):
        if len(x) > 2:
            raise ValueError("two rows at most")
        return x.cumsum(1)


class BySize(nn.Module):
    """Hears the future in batches of a size of their own."""

    def forward(self, x):
        return x.cumsum(1) + (len(x) > 2) * x.mean(1, keepdim=True)


class LastHears(nn.Module):
    """The last of many rows hears what is in the row before."""

    def forward(self, x):
        return x.cumsum(1) + (len(x) > 2) * x.roll(1, 0)


class Alone(nn.Module):
    """Gives something else for a single row."""

    def forward(self, x):
        return x.cumsum(1) * (1 + (len(x) == 1))


SINGLE = [Alone, OverRows, Capacity, FixedBatch, Refuses, BySize, LastHears]
TOGETHER = {
    "ids": (GPT, (IDS,), {}),
    "masks": (WithMasks, (PADDED, MASK, PLACES), {"pad": 1}),
    "vectors": (lambda: nn.GRU(16, 16, batch_first=True), (ROWS,), {}),
    "one row": (GPT, (IDS[:1],), {}),
    "float64": (lambda: GPT().double(), (IDS,), {}),
}


def pushes(subject):
    which = subject.last
    length = subject.inputs[which].shape[1]
    return [NoisyRun(subject.inputs, [s], (which,)) for s in range(length)]


@pytest.mark.slow
@pytest.mark.parametrize("name", TOGETHER)
def test_a_batch_finds_what_single_runs_find(name, monkeypatch):
    build, inputs, known = TOGETHER[name]
    torch.manual_seed(0)
    model = build()
    subject = Subject(model, inputs, **known)
    found = in_batches(subject, pushes(subject))
    assert not any(moves is None for moves in found)
    together, whole = reach(subject, subject.last), report(model, *inputs)
    monkeypatch.setattr(perturbation, "TOKENS", 0)
    lonely = reach(Subject(model, inputs, **known), subject.last)
    assert (together > 0).equal(lonely > 0)
    assert_close(together, lonely, rtol=1e-3, atol=1e-6)
    assert str(report(model, *inputs)) == str(whole)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SINGLE)
def test_what_differs_in_a_larger_batch_is_asked_one_by_one(kind):
    torch.manual_seed(0)
    model = kind()
    subject = Subject(model, (ROWS,))
    assert in_batches(subject, pushes(subject)) == [None] * 7
    moves = reach(subject, 0)
    lower = causal_mask(7)[0, 0]
    heard = lower if kind is not OverRows else torch.ones(7, 7) > 0
    if kind is not OverRows:
        assert (moves[0] > 0).equal(heard)
        assert report(model, ROWS)["causality"].holds


def test_what_may_be_rounding_is_asked_alone():
    """Where the batch is summed up otherwise, small moves are not trusted."""
    subject = Subject(Rounds(), (ROWS,))
    found = in_batches(subject, pushes(subject))
    alone = [moves is None for moves in found]
    assert alone == [False] + [True] * 6
    assert (reach(subject, 0)[0] > 0).equal(torch.ones(7, 7) > 0)


def test_what_is_further_than_rounding_is_asked_alone_altogether():
    subject = Subject(Rounds(2e-3), (ROWS,))
    assert in_batches(subject, pushes(subject)) == [None] * 7


def test_a_batch_that_loses_rows_is_refused():
    subject = Subject(lambda x: x.cumsum(1)[:4], (ROWS,))
    with pytest.raises(FailedError, match="has not as many rows"):
        batched_outputs(subject, pushes(subject))


class Rounds(nn.Module):
    """In a batch, it rounds otherwise; the future is heard faintly."""

    def __init__(self, noise=2e-5):
        super().__init__()
        self.noise = noise

    def forward(self, x):
        noise = self.noise if len(x) > 2 else 0.0
        later = x.flip(1).cumsum(1).flip(1) - x
        return x.cumsum(1) + 1e-4 * later + noise * torch.ones(x.shape)


class Counted:
    """Notes how many rows each run has, where nothing puts it back."""

    def __init__(self, model):
        self.model, self.queue = model, SimpleQueue()

    def __call__(self, *inputs):
        self.queue.put(len(inputs[0]))
        return self.model(*inputs)

    def counts(self):
        return [self.queue.get() for _ in range(self.queue.qsize())]


def test_positions_are_pushed_in_one_batch():
    run = Counted(GPT())
    reach(Subject(run, (IDS,)), 0)
    counts = run.counts()
    assert 3 < len(counts) < 7
    assert max(counts) == 2 * 8  # one copy is not pushed


def test_a_batch_is_no_larger_than_it_should_be(monkeypatch):
    monkeypatch.setattr(perturbation, "TOKENS", 4 * 14)
    run = Counted(GPT())
    reach(Subject(run, (IDS,)), 0)
    assert max(run.counts()) == 2 * 4


def test_a_report_runs_a_function_less_than_thirty_times():
    """Were each of 7 positions a run, it would be three dozen."""
    torch.manual_seed(0)
    run = Counted(GPT())
    assert report(run, IDS).ok
    assert 10 < len(run.counts()) < 30
