"""Models that a probe or a check could harm, from ids (B, T) to (B, T, C)."""

import random
from collections import deque
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parametrizations

V, C = 11, 8


def embedding(**options):
    return nn.Embedding(V, C, **options)


class Around(nn.Module):
    """An embedding, and something of interest."""

    def __init__(self):
        super().__init__()
        self.embed, self.out = embedding(), nn.Linear(C, C)

    def forward(self, ids):
        return self.out(self.between(self.embed(ids)))

    def between(self, x):
        return x


class Grows(Around):
    """Lists, deques, dictionaries and sets."""

    def __init__(self):
        super().__init__()
        self.history, self.seen, self.last = [], {}, deque([1], maxlen=3)
        self.sizes, self.calls, self.nested = {1}, 0, {"a": [[1], {"b": []}]}

    def between(self, x):
        self.history.append(x)
        self.seen[len(self.seen)] = x
        self.seen.pop("never", None)
        self.last.append(x)
        self.sizes.add(len(self.history) + 1)
        self.calls += 1
        self.nested["a"][1]["b"].append(x)
        self.newest = x
        return x


class Caches(Around):
    """Tensors that are no buffers: in dictionaries and plain objects."""

    def __init__(self):
        super().__init__()
        self.cache = {"k": torch.zeros(1, C), "v": [torch.zeros(64, C)]}
        self.past = SimpleNamespace(keys=torch.zeros(64, C), length=0)

    def between(self, x):
        with torch.no_grad():
            rows = x.flatten(0, 1)[:64]
            self.cache["k"] = torch.cat([self.cache["k"], rows])
            self.cache["v"][0][: len(rows)] = rows
            self.past.keys[: len(rows)] += rows
            self.past.length += 1
        return x


class Draws(Around):
    """Random numbers of every kind, and generators of its own."""

    def __init__(self):
        super().__init__()
        self.mine = torch.Generator().manual_seed(1)
        self.python = random.Random(1)

    def between(self, x):
        noise = torch.rand(1, generator=self.mine).item() + random.random()
        noise += self.python.random()
        return x + (noise + np.random.rand() + torch.rand(1).item()) * 1e-9


class Writes(Around):
    """Into its parameters and buffers, in every way."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(C))
        self.register_buffer("rows", torch.zeros(0, C))
        self.register_buffer("wide", torch.zeros(1, C).expand(3, C))
        self.register_buffer("gone", torch.full((2,), torch.nan))
        self.gain = nn.Parameter(torch.ones(C))
        self.scale = nn.Parameter(torch.ones(C))
        self.scale.grad = torch.ones(C)

    def between(self, x):
        self.mean.mul_(0.9).add_(x.detach().flatten(0, -2).mean(0))
        self.rows = torch.cat([self.rows, x.detach().flatten(0, -2)])
        self.out.weight.data.mul_(1.001)
        self.gain.data = self.gain.data * 1.5
        self.scale.grad.add_(1)
        self.gain.requires_grad_(False)
        if "gone" in self._buffers:
            del self.gone
        with torch.no_grad():
            self.scale.mul_(2)
        return x * self.gain


class Changes(Around):
    """Its mode, its hooks, its parts and its class."""

    def between(self, x):
        self.out.train(not self.out.training)
        self.embed.register_forward_hook(lambda *_: None)
        self.out.register_full_backward_pre_hook(lambda *_: None)
        self.register_parameter("late", nn.Parameter(torch.ones(C)))
        self.add_module(f"more{len(self._modules)}", nn.Identity())
        return x


class Merges(Around):
    """LoRA, as loralib has it: `eval` adds it to the weights."""

    def __init__(self):
        super().__init__()
        self.delta, self.merged = nn.Parameter(torch.ones(C, C)), False

    def train(self, mode=True):
        super().train(mode)
        if mode is self.merged:
            self.out.weight.data += -self.delta if mode else self.delta
            self.merged = not mode
        return self

    def between(self, x):
        return x if self.merged else x + x @ self.delta.T


def shared():
    layer = nn.Linear(C, C)
    return nn.Sequential(embedding(), layer, layer)


def tied():
    model = nn.Sequential(embedding(), nn.Linear(C, C), nn.Linear(C, V))
    model[2].weight = model[0].weight
    return model


def one_memory():
    model = nn.Sequential(embedding(), nn.Linear(C, C), nn.Linear(C, C))
    model[2].weight.data = model[1].weight.data
    return model


class Norm(Around):
    """Running statistics, by default in training."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(C)

    def between(self, x):
        return self.norm(x.mT).mT


def closed():
    """A function that keeps something."""
    model, kept = Grows(), []

    def run(ids):
        nonlocal times
        times += 1
        kept.append(ids)
        return model(ids)

    times = 0
    run.of = model, kept, lambda: times
    return run


AWKWARD = {
    "grows": Grows,
    "caches": Caches,
    "draws": Draws,
    "writes": Writes,
    "changes": Changes,
    "merges": Merges,
    "shared": shared,
    "tied": tied,
    "one memory": one_memory,
    "max_norm": lambda: nn.Sequential(embedding(max_norm=0.1)),
    "spectral norm": lambda: nn.Sequential(
        embedding(), parametrizations.spectral_norm(nn.Linear(C, C))
    ),
    "batch norm": Norm,
    "lazy": lambda: nn.Sequential(embedding(), nn.LazyLinear(C)),
}
