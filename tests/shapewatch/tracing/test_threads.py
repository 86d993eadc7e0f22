"""Traces in several threads at once: each sees its own, and afterwards what
all share is as it was."""

import asyncio
import contextlib
import io
import sys
import threading
import warnings

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace
from shapewatch.tracing.record.shared import SharedChange, patched
from shapewatch.tracing.record.state import aside
from tests.helpers.four_rows import rows, small_model
from tests.helpers.witness import surroundings
from tformer_lite import print_shapes

NAMED = {"dims": {"B": 4}, "axes": ["B same"]}


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    before = surroundings()
    yield
    assert surroundings() == before


class Waits(nn.Module):
    """Runs a step when it is told to."""

    def __init__(self, begun, told):
        super().__init__()
        self.layer = nn.Linear(6, 6)
        self.events = begun, told

    def forward(self, x):
        x = self.layer(x)
        begun, told = self.events
        begun.set()
        assert told.wait(20)
        return x + 1


@pytest.mark.parametrize("first", [0, 1])
def test_two_traces_that_overlap_may_end_in_any_order(first):
    events = [(threading.Event(), threading.Event()) for _ in range(2)]
    found, threads = {}, []
    for i, pair in enumerate(events):

        def work(i=i, pair=pair):
            found[i] = trace(Waits(*pair), rows(), keep=True)

        threads.append(threading.Thread(target=work))
        threads[-1].start()
        assert pair[0].wait(20)
    for i in (first, 1 - first):
        events[i][1].set()
        threads[i].join()
        assert small_model()(rows()).shape[0] == 4
    for i in (0, 1):
        paths = [step.visit.path for step in found[i].steps]
        assert paths == ["layer", ""]


def in_thread(work):
    """Run something in another thread, and wait for it."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_what_a_thread_prints_and_warns_of_gets_through(capsys):
    with aside(None):
        print("unheard")
        print("unheard", file=sys.stderr)
        warnings.warn("unheard", stacklevel=1)
        in_thread(lambda: print("heard", flush=True))
        in_thread(lambda: print("seen", file=sys.stderr))
        with pytest.warns(UserWarning, match="told"):
            in_thread(lambda: warnings.warn("told", stacklevel=1))
    said = capsys.readouterr()
    assert (said.out, said.err) == ("heard\n", "seen\n")


class Loud(nn.Module):
    """Says what it does, in every way."""

    def forward(self, x):
        print("print", flush=True)
        sys.stdout.write("write\n")
        sys.stdout.writelines(["lines\n"])
        sys.stdout.flush()
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
        seen = trace(Loud(), rows(), **names)
    said = capsys.readouterr()
    assert said.out == "print\nwrite\nlines\n"
    assert said.err == "error\n"
    assert [str(one.message) for one in told] == ["beware"]
    assert seen.notes == []


def test_a_probe_that_warns_is_not_refused_where_warnings_are_errors():
    def model(x):
        if len(x) != 4:
            warnings.warn("not four", stacklevel=1)
        return x + 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert trace(model, rows(), **NAMED).notes == []


def test_streams_that_others_have_put_in_place_stay(capsys):
    mine = io.StringIO()
    with contextlib.ExitStack() as stack:
        with aside(None):
            stack.enter_context(contextlib.redirect_stdout(mine))
        print("mine")
        assert sys.stdout is mine
    assert mine.getvalue() == "mine\n"
    print("out")
    assert capsys.readouterr().out == "out\n"


def test_a_change_lasts_as_long_as_anybody_needs_it():
    class Owner:
        name = 1

    shared = SharedChange(lambda: patched(Owner, "name", lambda was: was + 1))
    for first in (0, 1):
        both = [contextlib.ExitStack() for _ in range(2)]
        for stack in both:
            stack.enter_context(shared)
            assert Owner.name == 2
        both[first].close()
        assert Owner.name == 2
        both[1 - first].close()
        assert Owner.name == 1


def test_live_printing_in_tasks_may_end_in_any_order(capsys):
    async def task(begun, go, done, end):
        layer = nn.Linear(6, 6)
        with print_shapes(layer, calls=True):
            begun.set()
            await go.wait()
            layer(rows())
            done.set()
            await end.wait()

    async def both():
        events = [asyncio.Event() for _ in range(4)]
        first, second, third, fourth = events
        await asyncio.gather(
            task(first, second, third, fourth),  # it ends when the other has
            task(second, first, fourth, third),
        )

    asyncio.run(both())
    assert capsys.readouterr().out.count("layer(rows())") >= 2


def test_attention_in_other_threads_runs_as_ever():
    asked, x = [], torch.randn(2, 3, 8)
    layer = nn.MultiheadAttention(8, 2, batch_first=True)

    class Asks(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            asked.append(getattr(function, "__name__", ""))
            return function(*args, **kwargs or {})

    def other():
        with Asks():
            layer(x, x, x)
        return list(asked)

    alone = other()
    asked.clear()

    def model(x):
        in_thread(other)
        return x + 1

    seen = trace(model, x)
    assert asked == alone
    assert len(seen) == 1


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(torch.compiler, "set_stance"), reason="needs torch 2.6"
)
def test_compiled_code_in_other_threads_stays_compiled():
    calls = []

    def backend(graph, inputs):
        def run(*args):
            calls.append(1)
            return graph.forward(*args)

        return run

    compiled = torch.compile(lambda x: x * 2 + 1, backend=backend)
    x = torch.randn(3)
    compiled(x)
    del calls[:]

    def model(x):
        in_thread(lambda: compiled(x))
        return compiled(x)

    trace(model, x)
    assert len(calls) == 1
