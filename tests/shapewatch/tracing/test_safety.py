"""After a trace everything is as it was, and the result is the untraced: in
company, after errors, and among other threads."""

import asyncio
import contextlib
import gc
import io
import sys
import threading
import warnings
from weakref import ref

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace
from shapewatch.tracing.record.state import aside
from tests.helpers.witness import surroundings
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


def test_the_result_and_what_moved_are_those_of_an_untraced_run():
    plain, traced = small_model(), small_model()
    torch.manual_seed(3)
    expected, after = plain(rows()), torch.random.get_rng_state()
    torch.manual_seed(3)
    seen = trace(traced, rows(), **NAMED)
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
    inner, found = small_model().eval(), []

    def model(x):
        found.append(trace(inner, x + 1))
        return inner(x) * 2

    seen = trace(model, rows())
    assert torch.equal(seen.result, inner(rows()) * 2)
    assert torch.equal(found[0].result, inner(rows() + 1))
    assert len(found[0]) == len(trace(inner, rows()))


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


@pytest.mark.parametrize("kind", ["profile", "trace"])
def test_an_active_profiler_or_debugger_stays_active(kind):
    get, put = getattr(sys, f"get{kind}"), getattr(sys, f"set{kind}")
    before, calls = get(), []

    def watch(frame, event, argument):
        calls.append(event)

    put(watch)
    try:
        seen = trace(small_model().eval(), rows())
        assert get() is watch
    finally:
        put(before)
    assert len(calls) > 10
    assert torch.equal(seen.result, small_model().eval()(rows()))


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
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


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
        first, second, third, fourth = (asyncio.Event() for _ in range(4))
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

    other()
    alone, asked[:] = asked[:], []

    def model(x):
        in_thread(other)
        return x + 1

    assert len(trace(model, x)) == 1
    assert asked == alone


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
