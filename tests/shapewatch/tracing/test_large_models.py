"""Probes of large models: nothing is computed where a model lets it be, and
nothing of it is left."""

from functools import lru_cache
from queue import SimpleQueue

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace
from shapewatch.tracing.record import meta
from tests.helpers.small import words

WIDTH = 256  # a square of it is large
IDS = words(300, 2, 6)
KINDS = SimpleQueue()  # whether each run is without numbers; never put back


@lru_cache
def table(length):
    return torch.ones(length, WIDTH).cumsum(0)


class Large(nn.Module):
    """A model of which each run says whether it computes."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(300, WIDTH)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.register_buffer("total", torch.zeros(WIDTH))
        self.past = []

    def forward(self, ids):
        x = self.embed(ids)
        KINDS.put(x.is_meta)
        assert x.device == ids.device
        if (ids >= 0).all():  # numbers that are there
            x = x[:, 1:]
        for layer in self.layers:
            x = layer(x)
        self.total += x.detach().sum((0, 1))
        self.past.append(x)
        return self.end(x)

    def end(self, x):
        return x * 1


class Cached(Large):
    """It keeps a table for each length, where nobody looks."""

    def end(self, x):
        return x * table(x.shape[1]).to(x.device)


class Asking(Large):
    """It asks for a number that only a run which computes has."""

    def end(self, x):
        return x[:, :, :4] if x.sum() < 1e9 else x


class Written(Large):
    """The same, of what was written into a tensor of its own."""

    def end(self, x):
        rows = torch.zeros(x.shape[:2])
        rows[:] = x[..., 0]
        return x[:, :, : 4 if rows.any() else 8]


class Writing(Asking):
    """It writes into its weights, too, unknown to PyTorch."""

    def end(self, x):
        self.layers[0].weight.data.mul_(1.5)
        return super().end(x)


class Swallowing(Large):
    """The same, and it has another way where there is none."""

    def end(self, x):
        try:
            return x[:, :, : x.sum().isnan().long().item() + 4]
        except RuntimeError:
            return x * 2


@pytest.fixture(autouse=True)
def _worth(monkeypatch):
    monkeypatch.setattr(meta, "WORTH", WIDTH**2)


def kinds():
    return [KINDS.get() for _ in range(KINDS.qsize())]


@pytest.mark.parametrize("kind", [Asking, Written, Swallowing])
def test_whoever_asks_for_a_number_gets_the_right_one(kind):
    kinds()
    seen = trace(kind(), IDS, axes="B T")
    assert seen.calls().rows[-1].makes == "(B, T-1, 4)"
    assert kinds() == [False] + [True, False] * 3


@pytest.mark.parametrize("factory", [False, True])
def test_probes_compute_nothing_and_prove_as_much(factory):
    build = (lambda B, T: (Large(), (words(300, B, T),))) if factory else None
    kinds()
    names = {"dims": {"B": 2, "T": 6}, "build": build}
    seen = trace(Large(), IDS, axes=["B T"], **names)
    assert seen.calls().rows[-1].makes == f"(B, T-1, {WIDTH})"
    assert kinds() == [False, True, True, True]


@pytest.mark.parametrize("kind", [Cached, Writing])
def test_a_large_model_is_left_as_one_run_leaves_it(kind):
    torch.manual_seed(0)
    model, other = kind(), kind()
    other.load_state_dict(model.state_dict())
    seen, result = trace(model, IDS, axes="B T"), other(IDS)
    assert torch.equal(seen.result, result)
    assert torch.equal(model.total, other.total)
    assert len(model.past) == 1
    for ours, theirs in zip(model.parameters(), other.parameters()):
        assert torch.equal(ours, theirs)
    assert not any(table(n).is_meta for n in range(1, 50))
    assert torch.equal(model(IDS), other(IDS))
