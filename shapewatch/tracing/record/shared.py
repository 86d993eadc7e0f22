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
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial, wraps
from typing import Any, TextIO

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

Change = Callable[[], AbstractContextManager]


class ThreadState(threading.local):
    """What goes on in this thread: the visits that follow its modules, how
    many recorders see its calls, how many runs are to be eager, or muted,
    and where what it prints goes meanwhile."""

    recorders = eager = muted = 0
    printed: TextIO | None = None

    def __init__(self):
        self.visits: list[Any] = []


THREAD = ThreadState()


class SharedChange:
    """A change that lasts as long as anybody needs it."""

    def __init__(self, change: Change):
        self.change, self.lock, self.users = change, threading.RLock(), 0

    def __enter__(self) -> None:
        with self.lock:
            if not self.users:
                self.now = self.change()
                self.now.__enter__()
            self.users += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                self.now.__exit__(None, None, None)


@contextmanager
def patching(owner: Any, name: str, make: Callable) -> Iterator[None]:
    """Put something in another's place, made of it; and back, unless
    somebody else has put something there since."""
    was = vars(owner)[name]
    made = make(was)
    setattr(owner, name, made)
    try:
        yield
    finally:
        if vars(owner)[name] is made:
            setattr(owner, name, was)


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
        now, followers = call, THREAD.visits
        for visits in followers[:-1]:
            now = partial(visits.run, now)
        if followers:
            return followers[-1].run(now, module, *args, **kwargs)
        return now(module, *args, **kwargs)

    return run


def see_attention(asked: Callable) -> Callable:
    """Let the lines of an attention layer be seen while this thread records,
    or it would be one call; unless a tensor has a way of its own."""

    @wraps(asked)
    def ask(tensors: tuple) -> bool:
        if THREAD.recorders and not any(map(has_own_way, tensors)):
            return False
        return asked(tensors)

    return ask


def has_own_way(value: Any) -> bool:
    """Whether a tensor's class decides what torch functions do with it."""
    way = getattr(type(value), "__torch_function__", None)
    plain = torch._C._disabled_torch_function_impl
    usual = Tensor.__torch_function__.__func__  # type: ignore[attr-defined]
    return way not in (None, plain) and way.__func__ is not usual


def eager_where_asked(choose: Callable) -> Callable:
    """Let compiled code of this thread run as it is written."""

    @wraps(choose)
    def chosen(compiler: Any) -> Any:
        return None if THREAD.eager else choose(compiler)

    return chosen


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


def patch_of(owner: Any, name: str, make: Callable) -> SharedChange:
    """Share a patch."""
    return SharedChange(lambda: patching(owner, name, make))


MODULES = patch_of(nn.Module, "_call_impl", followed_call)
OVERRIDE_CHECKS = patch_of(functional, "has_torch_function", see_attention)
STDOUT = patch_of(sys, "stdout", ThreadStream)
STDERR = patch_of(sys, "stderr", ThreadStream)
WARNINGS = SharedChange(ignoring_warnings)
COMPILERS = SharedChange(
    lambda: patching(
        sys.modules["torch._dynamo.eval_frame"],
        "_callback_from_stance",
        eager_where_asked,
    )
)


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
    compiler = sys.modules.get("torch._dynamo.eval_frame")
    with ExitStack() as stack:
        if hasattr(compiler, "_callback_from_stance"):
            stack.enter_context(COMPILERS)
            stack.enter_context(counting_depth("eager"))
        yield


def leave_mode(mode: TorchFunctionMode) -> None:
    """End a mode of this thread, even if others that began later go on."""
    later = []
    while (last := torch._C._pop_torch_function_stack()) is not mode:
        later.append(last)
    for one in reversed(later):
        torch._C._push_on_torch_function_stack(one)
