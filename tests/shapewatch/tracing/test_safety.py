"""After a trace everything is as it was, and the result is the untraced."""

import gc
import sys
import threading
import time
from itertools import count

import pytest
import torch
from torch import nn
from torch.overrides import _get_current_function_mode_stack as modes

from shapewatch.tracing import trace
from tests.helpers.four_rows import rows, small_model

DIMS = {"B": 4, "C": 6}


def surroundings():
    """What a trace may not leave changed."""
    grad = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    hooks = sys.getprofile(), sys.gettrace(), sys.stdout, sys.stderr
    swapped = nn.Module._call_impl, sys.excepthook
    return swapped, modes(), grad, hooks, gc.isenabled()


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    before = surroundings()
    yield
    assert surroundings() == before


def test_the_result_and_what_moved_are_those_of_an_untraced_run():
    plain, traced = small_model(), small_model()
    torch.manual_seed(3)
    expected, after = plain(rows()), torch.random.get_rng_state()
    torch.manual_seed(3)
    seen = trace(traced, rows(), dims=DIMS, axes=["B same"])
    assert torch.equal(seen.result, expected)
    assert torch.equal(torch.random.get_rng_state(), after)
    assert seen.result.requires_grad
    for name, value in plain.state_dict().items():
        assert torch.equal(value, traced.state_dict()[name]), name
    for one, other in zip(plain.parameters(), traced.parameters()):
        assert other.requires_grad is one.requires_grad
        assert other.grad is None


class Loop:
    """It refers to itself: only a collection finds that nobody needs it."""

    alive = 0

    def __init__(self):
        self.own, Loop.alive = self, Loop.alive + 1

    def __del__(self):
        Loop.alive -= 1


@pytest.mark.slow
def test_what_a_long_run_leaves_behind_is_collected_while_it_runs():
    seen = []

    def long(x):
        for _ in range(20_000):
            Loop()
            x = x + 1
            seen.append(Loop.alive)
        return x

    trace(long, torch.zeros(1))
    assert max(seen) < 15_000


@pytest.mark.slow
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("call", [1, 2, 4])
def test_an_error_in_the_run_or_in_a_probe_leaves_nothing(error, call, capsys):
    model, calls = small_model(), count(1)  # nothing puts this back

    def stop(*_):
        if next(calls) >= call:
            raise error("stop")

    model[1].register_forward_hook(stop)
    if call > 1 and error is RuntimeError:
        seen = trace(model, rows(), dims=DIMS, axes=["B same"])
        assert seen.notes
    else:
        with pytest.raises(error, match="stop"):
            trace(model, rows(), dims=DIMS, axes=["B same"])
    assert model[1].num_batches_tracked == 1
    assert capsys.readouterr().out == ""


def test_a_trace_within_a_traced_model_sees_its_own_part():
    inner, found = small_model().eval(), []

    def model(x):
        found.append(trace(inner, x + 1))
        return inner(x) * 2

    seen = trace(model, rows())
    assert len(found) == 1
    assert torch.equal(seen.result, inner(rows()) * 2)
    assert torch.equal(found[0].result, inner(rows() + 1))
    assert len(found[0]) == len(trace(inner, rows()))


def test_a_generator_runs_when_it_is_asked():
    model = small_model().eval()

    def lines(x):
        for row in x.split(1):
            yield model(row)

    seen = trace(lines, rows())
    assert len(seen) == 0
    results = torch.cat(list(seen.result))
    torch.testing.assert_close(results, model(rows()))


@pytest.mark.slow
def test_other_threads_run_as_ever_and_are_not_recorded():
    other, stop, results = small_model().eval(), threading.Event(), []

    def work():
        while not stop.is_set():
            results.append(other(rows()))

    thread = threading.Thread(target=work)
    patience = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()
    while not results:
        time.sleep(0.001)
    try:
        model = nn.Sequential(*(nn.Linear(6, 6) for _ in range(300))).eval()
        seen = trace(model, rows(), dims=DIMS, axes=["B same"])
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(patience)
    assert [step.visit.path for step in seen.steps] == list(
        map(str, range(300))
    )
    assert seen.notes == []
    assert all(torch.equal(result, results[0]) for result in results)
