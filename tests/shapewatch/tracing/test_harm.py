"""A trace leaves what an untraced run leaves, however many probes it takes."""

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
NAMED = {"dims": {"B": 2, "T": 6}, "axes": ["B T"]}


def values(model):
    """The numbers of all that a model has, and of what it has collected."""
    tensors = list(model.state_dict().values())
    lists = {k: x for k, x in vars(model).items() if isinstance(x, list)}
    numbers = [x for x in vars(model).values() if isinstance(x, int)]
    return [x.tolist() for x in tensors], numbers, list(map(len, lists))


def left_by(name, run) -> tuple:
    """What a run of a model leaves in it and around it."""
    torch.manual_seed(3)
    random.seed(3)
    np.random.seed(3)
    Grows.everywhere.clear()
    model = AWKWARD[name]()
    run(model)
    around = witnessed(None)
    return str(values(model)), len(Grows.everywhere), around


def untraced(model):
    model(IDS)


@pytest.mark.parametrize("name", AWKWARD)
def test_a_trace_leaves_a_model_as_an_untraced_run_does(name):
    def traced(model):
        seen = trace(model, IDS, **NAMED)
        assert seen.notes == []
        assert seen.table.rows[-1].makes.startswith("(B, T, ")
        assert "2B*T" not in str(seen), "a probe starts where the run did"

    assert left_by(name, traced) == left_by(name, untraced)


@pytest.mark.slow
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("name", AWKWARD)
def test_a_probe_that_is_stopped_leaves_what_the_run_left(name, error):
    counter = iter(range(1, 99))

    def stopped(model):
        def run(ids, count=next, counter=counter):
            result = model(ids)
            if count(counter) == 3:
                raise error
            return result

        try:
            trace(run, IDS, **NAMED)
        except KeyboardInterrupt:
            assert error is KeyboardInterrupt

    assert left_by(name, stopped) == left_by(name, untraced)


QUESTIONS = "flops", "gradients", "profile", "first_nan"


@pytest.mark.parametrize("question", QUESTIONS)
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
    report(KeepsElsewhere(), IDS)
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
    def model(x, given):
        return x + torch.randn(x.shape, generator=given)

    x, one, other = torch.zeros(2, 3), torch.Generator(), torch.Generator()
    trace(model, x, given=one.manual_seed(5), dims={"B": 2}, axes=["B _"])
    model(x, given=other.manual_seed(5))
    assert one.get_state().equal(other.get_state())


def test_what_is_made_for_inference_is_put_back_too():
    with torch.inference_mode():
        x = torch.zeros(2, 3)
        seen = trace(lambda x: x.add_(1), x, dims={"B": 2}, axes=["B _"])
        seen.flops()
    assert x.tolist() == [[1, 1, 1]] * 2
