"""A trace leaves what an untraced run leaves, however many probes it takes."""

import copy
import random

import numpy as np
import pytest
import torch
from torch import nn

from shapewatch.tracing import trace
from tests.helpers.awkward import AWKWARD, Grows, V
from tests.helpers.witness import differences, witnessed
from tformer_lite import print_shapes, report

IDS = torch.randint(V, (2, 6), generator=torch.Generator().manual_seed(0))
DIMS = {"B": 2, "T": 6}
NAMED = {"dims": DIMS, "axes": ["B T"]}


def seeded():
    torch.manual_seed(3)
    random.seed(3)
    np.random.seed(3)


def values(model):
    """The numbers of all that a model has, and of what it has collected."""
    tensors = list(model.state_dict().values())
    lists = {k: x for k, x in vars(model).items() if isinstance(x, list)}
    numbers = [x for x in vars(model).values() if isinstance(x, int)]
    return [x.tolist() for x in tensors], numbers, list(map(len, lists))


@pytest.mark.parametrize("name", AWKWARD)
def test_a_trace_leaves_a_model_as_an_untraced_run_does(name):
    made = []
    for traced in (False, True):
        seeded()
        Grows.everywhere.clear()
        model = AWKWARD[name]()
        if traced:
            seen = trace(model, IDS, **NAMED)
            assert seen.notes == []
            result = seen.result
        else:
            result = model(IDS)
        around = witnessed(None)
        left = len(Grows.everywhere)
        made.append((result.tolist(), str(values(model)), left, around))
    assert made[0] == made[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", AWKWARD)
def test_a_probe_starts_where_the_traced_run_did(name):
    seen = trace(AWKWARD[name](), IDS, **NAMED)
    assert seen.table.rows[-1].makes.startswith("(B, T, ")
    assert "2B*T" not in str(seen)


@pytest.mark.slow
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("many", [2, 3, 5])
@pytest.mark.parametrize("name", AWKWARD)
def test_a_probe_that_is_stopped_leaves_what_the_run_left(name, many, error):
    left = []
    for traced in (False, True):
        seeded()
        model, counter = AWKWARD[name](), iter(range(1, 99))
        if traced:
            probed(model, next, counter, many, error)
        else:
            model(IDS)
        left.append((str(values(model)), witnessed(None)))
    assert left[0] == left[1]


def probed(model, count, counter, many, error):
    """Trace a model that fails in one run."""

    def run(ids):
        result = model(ids)
        if count(counter) == many:
            raise error
        return result

    try:
        trace(run, IDS, **NAMED)
    except KeyboardInterrupt:
        assert error is KeyboardInterrupt


@pytest.mark.parametrize("question", ["flops", "gradients"])
@pytest.mark.parametrize("name", AWKWARD)
def test_a_question_that_runs_a_model_again_changes_nothing(name, question):
    model = AWKWARD[name]()
    seen = trace(model, IDS)
    before = witnessed(model)
    getattr(seen, question)()
    assert differences(before, witnessed(model)) == []


KEPT: list = []
COUNT = 0


class KeepsElsewhere(nn.Module):
    """Its methods write into variables of the module that it is in."""

    def forward(self, ids):
        self.keep(ids)
        return ids + 1

    def keep(self, ids):
        global COUNT
        COUNT += 1
        KEPT.append(ids)


def test_variables_outside_of_a_class_are_changed_by_one_run():
    before = len(KEPT), COUNT
    trace(KeepsElsewhere(), IDS, **NAMED)
    assert (len(KEPT), COUNT) == (before[0] + 1, before[1] + 1)
    model = KeepsElsewhere()
    report(model, IDS)
    assert (len(KEPT), COUNT) == (before[0] + 1, before[1] + 1)


class Attends(nn.Module):
    """Attention to a cache that the caller gives."""

    def forward(self, x, cache, sizes=()):
        cache["past"] = torch.cat([cache["past"], x], 1)
        sizes and sizes.append(x.shape[1])
        return x @ cache["past"].mT


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("ahead", [False, True])
def test_what_the_caller_gives_is_changed_by_one_run(named, ahead):
    x, cache, sizes = torch.randn(2, 4, 8), {}, [0]
    cache["past"] = torch.zeros(2, 0, 8)
    names = {"dims": {"T": 4}, "axes": ["_ T _"]} if named else {}
    model = Attends()
    if ahead:
        with print_shapes(model, **names):
            model(x, cache, sizes=sizes)
    else:
        seen = trace(model, x, cache, sizes=sizes, **names)
        assert not named or "(2, T, T)" in str(seen)
    assert cache["past"].equal(x)
    assert sizes == [0, 4]


def test_a_generator_that_is_given_goes_on_by_one_run():
    states = []
    for traced in (False, True):
        generator = torch.Generator().manual_seed(5)

        def model(x, given):
            return x + torch.randn(x.shape, generator=given)

        x = torch.zeros(2, 3)
        if traced:
            trace(model, x, given=generator, dims={"B": 2}, axes=["B _"])
        else:
            model(x, given=generator)
        states.append(generator.get_state())
    assert states[0].equal(states[1])


def test_the_result_s_backward_pass_has_what_it_needs():
    model = AWKWARD["batch norm"]()
    plain = copy.deepcopy(model)
    trace(model, IDS, **NAMED).result.square().sum().backward()
    plain(IDS).square().sum().backward()
    for one, other in zip(model.parameters(), plain.parameters()):
        assert one.grad.equal(other.grad)
