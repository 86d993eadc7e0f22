"""Methods and functions: the model behind them keeps its paths."""

from functools import partial, wraps

import pytest
import torch
from torch import nn

from shapewatch.tracing import flops, trace
from shapewatch.tracing.record.models import root_module
from tests.helpers.small import words

IDS = words(11, 2, 3)


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 4)
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
        self.head = nn.Linear(4, 11)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)

    def embedded(self, ids, scale=1.0):
        return self.layers[0](self.embed(ids)) * scale

    @torch.no_grad()
    def generate(self, ids, more=2):
        for _ in range(more):
            best = self(ids)[:, -1:].argmax(-1)
            ids = torch.cat([ids, best], 1)
        return ids


torch.manual_seed(0)
WRITER = Writer().eval()
PATHS = {"embed", "layers.0", "layers.1", "head", "(Writer)"}


def paths(seen):
    return {row.path for row in seen.calls().rows}


def shouted(function):
    @wraps(function)
    def run(*inputs):
        return function(*inputs) + 1

    return run


class Service:
    """No module: it has one."""

    def __init__(self, net):
        self.net, self.name = net, "a service"

    def answer(self, ids):
        return self.net(ids)


def by_global_name(ids):
    return inner(ids)


def inner(ids):
    return torch.cat([WRITER(row[None]) for row in ids])


OUTSIDE = {"(outside every module)"}
WAYS = {
    "a method": (WRITER.generate, (IDS,), PATHS),
    "a lambda": (lambda ids: WRITER(ids) + 1, (IDS,), PATHS | OUTSIDE),
    "an object's method": (Service(WRITER).answer, (IDS,), PATHS),
    "a name": (by_global_name, (IDS,), PATHS | OUTSIDE),
    "a decorated partial": (
        partial(torch.inference_mode()(WRITER.embedded), scale=2.0),
        (IDS,),
        {"embed", "layers.0", "(Writer)"},
    ),
    "decorated": (shouted(by_global_name), (IDS,), PATHS | OUTSIDE),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_module_paths_and_costs_are_those_of_the_model_behind(way):
    model, inputs, expected = way
    assert root_module(partial(model, *inputs)) is WRITER
    seen = trace(model, *inputs)
    assert paths(seen) == expected
    rows = seen.parameters().rows
    assert rows == trace(WRITER, IDS).parameters().rows
    assert seen.flops()[""].kind == "Writer"


def test_several_models_are_named_as_their_variables():
    reads, writes = nn.Linear(4, 5), nn.Sequential(nn.Linear(5, 6), nn.ReLU())

    def run(x):
        return writes(reads(x))

    seen = trace(run, torch.ones(2, 4))
    assert paths(seen) == {"reads", "writes.0", "writes.1"}
    assert seen.flops()["writes"].flops == 2 * 2 * 5 * 6
    assert seen.flops()[""].kind == "run"
    assert seen.parameters()[""].parameters == 25 + 36


def test_a_module_that_a_model_is_given_does_not_rename_its_parts():
    loss = nn.CrossEntropyLoss()
    assert root_module(partial(WRITER, IDS, loss=loss)) is WRITER
    assert root_module(partial(WRITER.embedded, nn.ReLU())) is WRITER


def test_what_has_no_model_has_none():
    assert not [*root_module(torch.relu).children()]
    assert not [*root_module(partial(torch.add, torch.ones(2))).children()]
    seen = trace(lambda x: x + 1, torch.ones(2))
    assert paths(seen) == OUTSIDE
    assert seen.parameters()[""].parameters == 0
    assert flops(torch.relu, torch.ones(2))[""].kind == "relu"
