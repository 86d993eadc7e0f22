"""Shared: what all threads have in common, changed for some of them only.

What is patched asks which thread it is in, and does as ever in the others.
It is patched once, when the first thread needs it, and put back when the last
one does not any more: in whatever order they end.
"""

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
)
from functools import partial, wraps
from importlib import import_module
from typing import Any, TextIO

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode, handle_torch_function

Change = Callable[[], AbstractContextManager]
COMPILER = "torch._dynamo.eval_frame"
FLEX = "torch.nn.attention.flex_attention"
COMPILED_NOTE = "compiled code ran as it is written, line by line"
SCRIPTED_NOTE = (
    "scripted code runs out of Python's sight: each call of it is one line"
)
THREADS_NOTE = (
    "the model gave work to other threads, whose calls are not seen: trace "
    "what they run, or let one thread run it all"
)


class ThreadState(threading.local):
    """What goes on in this thread: the visits that follow its modules, how
    many recorders see its calls, how many runs are to be eager, or muted,
    where what it prints goes meanwhile, what a compiler that is loaded joins,
    and notes on what cannot be seen of it."""

    recorders = eager = muted = 0
    printed: TextIO | None = None
    late: ExitStack | None = None

    def __init__(self):
        self.visits: list[Any] = []
        self.notes: dict[str, None] = {}


THREAD = ThreadState()


class SharedChange:
    """Changes that last as long as anybody needs them."""

    def __init__(self, *changes: Change):
        self.changes, self.lock, self.users = changes, threading.RLock(), 0
        self.stack = ExitStack()

    def __enter__(self) -> None:
        with self.lock:
            for change in self.changes if not self.users else ():
                self.stack.enter_context(change())
            self.users += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                self.stack.close()


@contextmanager
def patching(owner: Any, name: str, make: Callable) -> Iterator[None]:
    """Put something in another's place, made of it; and back, unless
    somebody else has put something there since. A module may be named; what
    is not there, or this PyTorch lacks, is not put there."""
    owner = sys.modules.get(owner) if isinstance(owner, str) else owner
    if name not in getattr(owner, "__dict__", ()):
        yield
        return
    was = vars(owner)[name]
    made = make(was)
    setattr(owner, name, made)
    try:
        yield
    finally:
        if vars(owner)[name] is made:
            setattr(owner, name, was)


def standing_in(rule: Callable) -> Callable:
    """Make a patch of a rule: it is given what was there, and all that this
    is called with."""

    def make(was: Callable) -> Callable:
        @wraps(was)
        def run(*args: Any, **kwargs: Any) -> Any:
            return rule(was, *args, **kwargs)

        return run

    return make


@contextmanager
def counting_depth(name: str) -> Iterator[None]:
    """Count one more of something in this thread."""
    setattr(THREAD, name, getattr(THREAD, name) + 1)
    try:
        yield
    finally:
        setattr(THREAD, name, getattr(THREAD, name) - 1)


def followed_call(call: Callable) -> Callable:
    """Let the visits of this thread be there when a module runs."""

    @wraps(call)
    def run(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        now = call
        for visits in THREAD.visits:
            now = partial(visits.run, now)
        return now(module, *args, **kwargs)

    return run


@standing_in
def see_attention(asked: Callable, tensors: tuple) -> bool:
    """Let the lines of an attention layer be seen while this thread records,
    or it would be one call; unless a tensor has a way of its own."""
    seen = THREAD.recorders and not any(map(has_own_way, tensors))
    return False if seen else asked(tensors)


def has_own_way(value: Any) -> bool:
    """Whether a tensor's class decides what torch functions do with it."""
    way = getattr(type(value), "__torch_function__", None)
    plain = torch._C._disabled_torch_function_impl
    usual = Tensor.__torch_function__.__func__  # type: ignore[attr-defined]
    return way not in (None, plain) and way.__func__ is not usual


def script(call: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call what runs out of Python's sight."""
    return call(*args, **kwargs)


@standing_in
def see_scripted(call: Callable, *args: Any, **kwargs: Any) -> Any:
    """Let script be seen as one call while this thread records: PyTorch
    tells no mode of it."""
    if THREAD.recorders and torch._C._is_torch_function_mode_enabled():
        THREAD.notes[SCRIPTED_NOTE] = None
        return handle_torch_function(script, (), call, *args, **kwargs)
    return call(*args, **kwargs)


@standing_in
def see_no_calls(call: Callable, *args: Any, **kwargs: Any) -> Any:
    """Let what a function does be no calls while this thread records."""
    plain = torch._C.DisableTorchFunction
    with plain() if THREAD.recorders else nullcontext():
        return call(*args, **kwargs)


@standing_in
def note_handed(give: Callable, *args: Any, **kwargs: Any) -> Any:
    """Note that this thread gives others something to do."""
    THREAD.notes[THREADS_NOTE] = None
    return give(*args, **kwargs)


def note_compiled(compiled: Any) -> None:
    """Note that something compiled is not used, if it is there."""
    if compiled:
        THREAD.notes[COMPILED_NOTE] = None


@standing_in
def eager_where_asked(choose: Callable, compiler: Any) -> Any:
    """Let compiled code of this thread run as it is written; but what
    PyTorch compiles of its own, such as a branch of `cond`, has gradients
    only so."""
    function = sys._getframe(2).f_locals.get("fn")
    name = getattr(function, "__qualname__", "")
    own = "<locals>" in name and function.__module__.startswith("torch.")
    plain = torch._C
    seen = plain._len_torch_function_stack(), plain._len_torch_dispatch_stack()
    if not THREAD.eager or (own and not any(seen) and torch.is_grad_enabled()):
        return choose(compiler)
    return note_compiled(compiler)


@standing_in
def found_where_eager(count: Callable, frames: int) -> int:
    """Let nobody miss compiled frames where this thread has none."""
    return count(frames) or int(THREAD.eager > 0)


class CompiledWay:
    """The attribute in which a module has what its `compile()` made: None in
    a thread in which code runs as it is written."""

    def __init__(self, usual: None):
        self.name = "_compiled_call_impl"

    def __get__(self, module: nn.Module | None, kind: type) -> Any:
        made = None if module is None else vars(module).get(self.name)
        return note_compiled(made) if THREAD.eager else made

    def __set__(self, module: nn.Module, value: Any) -> None:
        vars(module)[self.name] = value


@standing_in
def join_late(make: Callable, *args: Any, **kwargs: Any) -> Any:
    """Let a compiler that is loaded by what this thread runs eagerly be as
    one that was there before."""
    if stack := THREAD.late:
        import_module(COMPILER)
        stack.enter_context(COMPILERS)
        THREAD.late = None
    return make(*args, **kwargs)


class ThreadStream:
    """A stream that some threads cannot write to; the others can."""

    def __init__(self, stream: TextIO):
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(THREAD.printed or self.stream, name)


class ThreadWarnings:
    """The text of a warning that nobody sees: any of some threads."""

    def match(self, text: str) -> bool:
        """Answer as a pattern would that stands in a warning filter."""
        return THREAD.muted > 0


@contextmanager
def ignoring_warnings() -> Iterator[None]:
    """Ignore warnings that some threads give."""
    # Not catch_warnings, which two threads can end in the wrong order.
    one: Any = "ignore", ThreadWarnings(), Warning, None, 0
    filters: list = warnings.filters  # type: ignore[assignment]
    filters.insert(0, one)
    try:
        yield
    finally:
        if one in warnings.filters:
            warnings.filters.remove(one)  # type: ignore[attr-defined]


def shared_patches(*several: tuple[Any, str, Callable]) -> SharedChange:
    """Share patches."""
    return SharedChange(*(partial(patching, *one) for one in several))


MODULES = shared_patches((nn.Module, "_call_impl", followed_call))
RECORDER_PATCHES = shared_patches(
    (functional, "has_torch_function", see_attention),
    (torch._C.ScriptFunction, "__call__", see_scripted),
    (torch._C.ScriptMethod, "__call__", see_scripted),
    (threading.Thread, "start", note_handed),
    (ThreadPoolExecutor, "submit", note_handed),
    (FLEX, "_create_empty_block_mask", see_no_calls),
)
STDOUT = shared_patches((sys, "stdout", ThreadStream))
STDERR = shared_patches((sys, "stderr", ThreadStream))
WARNINGS = SharedChange(ignoring_warnings)
COMPILERS = shared_patches(
    (COMPILER, "_callback_from_stance", eager_where_asked),
    (COMPILER, "set_fullgraph_compiled_frame_count", found_where_eager),
    (nn.Module, "_compiled_call_impl", CompiledWay),
)
FIRST_COMPILER = shared_patches((torch, "compile", join_late))


@contextmanager
def output_hidden() -> Iterator[None]:
    """Discard what this thread prints, or warns of."""
    outer = THREAD.printed
    lost = partial(open, os.devnull, "w", encoding="utf-8")
    with STDOUT, STDERR, WARNINGS, counting_depth("muted"), lost() as stream:
        THREAD.printed = stream
        try:
            yield
        finally:
            THREAD.printed = outer


@contextmanager
def following(visits: Any) -> Iterator[None]:
    """Let something run the modules of this thread."""
    with MODULES:
        followers = THREAD.visits
        followers.append(visits)
        try:
            yield
        finally:
            followers.remove(visits)


@contextmanager
def eagerly() -> Iterator[None]:
    """Let compiled code of this thread run as it is written, line by line."""
    before, loaded = THREAD.late, COMPILER in sys.modules
    with ExitStack() as stack, counting_depth("eager"):
        stack.enter_context(COMPILERS if loaded else FIRST_COMPILER)
        THREAD.late = None if loaded else stack
        try:
            yield
        finally:
            THREAD.late = before


@contextmanager
def noting() -> Iterator[dict[str, None]]:
    """Give the notes on what cannot be seen, while something runs."""
    before, THREAD.notes = THREAD.notes, dict[str, None]()
    try:
        yield THREAD.notes
    finally:
        THREAD.notes = before


def leave_mode(mode: TorchFunctionMode) -> None:
    """End a mode of this thread, even if others that began later go on."""
    later = []
    while (last := torch._C._pop_torch_function_stack()) is not mode:
        later.append(last)
    for one in reversed(later):
        torch._C._push_on_torch_function_stack(one)
