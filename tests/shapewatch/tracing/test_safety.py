"""After a trace everything is as it was, and the result is the untraced: in
company, and after errors."""

import contextlib
import gc
import io
import random
import sys
import warnings
from weakref import ref

import numpy as np
import pytest
import torch
from torch import nn

from shapewatch.tracing import trace
from shapewatch.tracing.record.shared import SharedPatches
from tests.helpers.awkward import AWKWARD, V
from tests.helpers.witness import differences, surroundings, witnessed
from tformer_lite import print_shapes

NAMED = {"dims": {"B": 4, "C": 6}, "axes": ["B same"]}


def small_model():
    """A small model that keeps statistics."""
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Dropout(), nn.ReLU()
    )


def rows():
    return torch.randn(4, 6, generator=torch.Generator().manual_seed(2))


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    before = surroundings(), gc.isenabled()
    yield
    assert (surroundings(), gc.isenabled()) == before


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_in_the_run_leaves_nothing(error):
    def stop(*_):
        raise error("stop")

    model = small_model()
    model[1].register_forward_hook(stop)
    with pytest.raises(error, match="stop"):
        trace(model, rows(), **NAMED)
    assert model[1].num_batches_tracked == 1


def test_a_trace_within_a_traced_model_sees_its_own_part():
    inner, traces = small_model().eval(), []

    def model(x):
        traces.append(trace(inner, x + 1))
        return inner(x) * 2

    seen = trace(model, rows())
    assert torch.equal(seen.result, inner(rows()) * 2)
    assert torch.equal(traces[0].result, inner(rows() + 1))
    assert len(traces[0]) == len(trace(inner, rows()))


def test_hooks_of_others_run_and_stay():
    model, seen = small_model().eval(), []
    hook = model[0].register_forward_hook(lambda *_: seen.append("layer"))
    everywhere = nn.modules.module.register_module_forward_hook(
        lambda *_: seen.append("any")
    )
    trace(model, rows())
    assert seen.count("layer") == 1
    assert seen.count("any") == 5
    model(rows())
    assert len(seen) == 12
    hook.remove()
    everywhere.remove()


def loud(x):
    """Say what is done, in every way."""
    print("print", flush=True)
    sys.stdout.write("write\n")
    print("error", file=sys.stderr)
    warnings.warn("beware", stacklevel=1)
    with contextlib.redirect_stdout(io.StringIO()) as text:
        print("inside")
    assert text.getvalue() == "inside\n"
    return x + 1


@pytest.mark.parametrize("names", [{}, NAMED])
def test_a_model_is_heard_once(capsys, names):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        seen = trace(loud, rows(), **names)
    said = capsys.readouterr()
    assert said.out == "print\nwrite\n"
    assert said.err == "error\n"
    assert [str(one.message) for one in told] == ["beware"]
    assert seen.notes == []


def test_a_change_lasts_as_long_as_anybody_needs_it():
    class Owner:
        name = 1

    shared = SharedPatches((Owner, "name", lambda original: original + 1))
    for first in (0, 1):
        both = [contextlib.ExitStack() for _ in range(2)]
        for stack in both:
            stack.enter_context(shared)
            assert Owner.name == 2
        both[first].close()
        assert Owner.name == 2
        both[1 - first].close()
        assert Owner.name == 1


class Forgets(nn.Module):
    """Lets go of what it made, and looks whether it is gone."""

    def forward(self, x):
        y = x + 1
        self.made = ref(y)
        del y
        self.gone = self.made() is None
        return x * 2


def test_a_trace_keeps_no_tensor_that_an_untraced_run_would_free():
    inner, seen = Forgets(), []
    inner.register_forward_hook(lambda part, *_: seen.append(part.gone))
    trace(nn.Sequential(inner, nn.Identity()), torch.ones(3))
    assert seen == [True]


# --- however many probes a trace takes -----------------------------------


IDS = torch.randint(V, (2, 6), generator=torch.Generator().manual_seed(0))
IDS_NAMED = {"dims": {"B": 2, "T": 6}, "axes": ["B T"]}


def values(model):
    """The numbers of all that a model has, what of it can learn and has a
    gradient, and how much it has collected."""
    tensors = [x.tolist() for x in model.state_dict().values()]
    learning = [(x.requires_grad, x.grad) for x in model.parameters()]
    parts = vars(model).values()
    sizes = [len(x) for x in parts if isinstance(x, list)]
    return tensors, learning, sizes, [x for x in parts if isinstance(x, int)]


def left_by(name, run) -> tuple:
    """What a run of a model leaves in it and around it, and what it gives."""
    for seed in (torch.manual_seed, random.seed, np.random.seed):
        seed(3)
    model = AWKWARD[name]()
    result = run(model)
    return str(values(model)), witnessed(None), result


def untraced(model):
    x = model(IDS)
    return x.tolist(), x.requires_grad


@pytest.mark.parametrize("name", AWKWARD)
def test_a_trace_leaves_a_model_as_an_untraced_run_does(name):
    def traced(model):
        seen = trace(model, IDS, **IDS_NAMED)
        assert seen.notes == []
        assert seen.calls().rows[-1].makes.startswith("(B, T, ")
        assert "2B*T" not in str(seen), "a probe starts where the run did"
        return seen.result.tolist(), seen.result.requires_grad

    assert left_by(name, traced) == left_by(name, untraced)


@pytest.mark.slow
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("name", AWKWARD)
def test_a_probe_that_is_stopped_leaves_what_the_run_left(name, error):
    runs = iter(range(1, 99))

    def stopped(model):
        def run(ids, count=next, runs=runs):
            result = model(ids)
            if count(runs) == 3:
                raise error
            return result

        try:
            trace(run, IDS, **IDS_NAMED)
        except KeyboardInterrupt:
            assert error is KeyboardInterrupt

    assert left_by(name, stopped)[:2] == left_by(name, untraced)[:2]


@pytest.mark.parametrize("question", ["flops", "first_nan"])
@pytest.mark.parametrize("name", AWKWARD)
def test_a_question_that_runs_a_model_again_changes_nothing(name, question):
    model = AWKWARD[name]()
    seen = trace(model, IDS)
    before = witnessed(model)
    getattr(seen, question)()
    assert differences(before, witnessed(model)) == []


class Attends(nn.Module):
    """Attention to a cache that the caller gives."""

    def forward(self, x, cache, sizes=()):
        cache["past"] = torch.cat([cache["past"], x], 1)
        sizes and sizes.append(x.shape[1])
        return x @ cache["past"].mT


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("ahead", [False, True])
def test_what_the_caller_gives_is_changed_by_one_run(named, ahead):
    x, sizes = torch.randn(2, 4, 8), [0]
    cache = {"past": torch.zeros(2, 0, 8)}
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


def test_what_is_made_for_inference_is_put_back_too():
    with torch.inference_mode():
        x = torch.zeros(2, 3)
        seen = trace(lambda x: x.add_(1), x, dims={"B": 2}, axes=["B _"])
        seen.flops()
    assert x.tolist() == [[1, 1, 1]] * 2
