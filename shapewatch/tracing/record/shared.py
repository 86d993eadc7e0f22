"""Shared: what all threads have in common, changed for some of them only.

What is patched asks which thread it is in, and does as ever in the others.
It is patched once, when the first thread needs it, and put back when the last
one does not any more: in whatever order they end.
"""

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import (
    ExitStack,
    contextmanager,
    redirect_stderr,
    redirect_stdout,
)
from dataclasses import replace
from functools import partial, wraps
from os import devnull
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import handle_torch_function

SCRIPTED_NOTE = (
    "Python cannot see inside scripted code: each call of it is one line"
)


class ThreadState(threading.local):
    """What goes on in this thread: the visits that follow its modules, how
    many recorders see its calls, and notes on what cannot be seen of it."""

    recorders = 0

    def __init__(self):
        self.visits: list[Any] = []
        self.notes: dict[str, None] = {}


THREAD = ThreadState()


class SharedPatches:
    """Patches that last as long as anybody needs them: each an owner, the
    name of what it has, and a function that makes something in its place.

    A module may be named. What is not there, or this PyTorch lacks, is not
    patched.
    """

    def __init__(self, *patches: tuple[Any, str, Callable]):
        self.patches, self.lock, self.users = patches, threading.RLock(), 0
        self.stack = ExitStack()

    def __enter__(self) -> None:
        with self.lock:
            for patch in self.patches if not self.users else ():
                self.stack.enter_context(patching(*patch))
            self.users += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                self.stack.close()


@contextmanager
def patching(owner: Any, name: str, replacement: Callable) -> Iterator[None]:
    """Put something in another's place, made of it; and back, unless
    somebody else has put something there since."""
    owner = sys.modules.get(owner) if isinstance(owner, str) else owner
    if name not in getattr(owner, "__dict__", ()):
        yield
        return
    original = vars(owner)[name]
    replaced = replacement(original)
    setattr(owner, name, replaced)
    try:
        yield
    finally:
        if vars(owner)[name] is replaced:
            setattr(owner, name, original)


@contextmanager
def seen_calls() -> Iterator[None]:
    """Let a mode see each torch call of this thread, and those of attention
    layers too."""
    with RECORDER_PATCHES:
        THREAD.recorders += 1
        try:
            yield
        finally:
            THREAD.recorders -= 1


def followed_call(call: Callable) -> Callable:
    """Let the visits of this thread be there when a module runs."""

    @wraps(call)
    def run(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        outer = call
        for visits in THREAD.visits:
            outer = partial(visits.run, outer)
        return outer(module, *args, **kwargs)

    return run


def seen_attention(ask: Callable) -> Callable:
    """Let the lines of an attention layer be seen while this thread records,
    or it would be one call; unless a tensor has a way of its own."""

    @wraps(ask)
    def run(tensors: tuple) -> bool:
        plain = not any(map(has_own_way, tensors))
        return False if THREAD.recorders and plain else ask(tensors)

    return run


def has_own_way(value: Any) -> bool:
    """Whether a tensor's class decides what torch functions do with it."""
    way = getattr(type(value), "__torch_function__", None)
    plain = torch._C._disabled_torch_function_impl
    usual = Tensor.__torch_function__.__func__  # type: ignore[attr-defined]
    return way not in (None, plain) and way.__func__ is not usual


def script(call: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call what runs out of Python's sight."""
    return call(*args, **kwargs)


def seen_script(call: Callable) -> Callable:
    """Let script be seen as one call while this thread records: PyTorch
    tells no mode of it."""

    @wraps(call)
    def run(*args: Any, **kwargs: Any) -> Any:
        if THREAD.recorders and torch._C._is_torch_function_mode_enabled():
            THREAD.notes[SCRIPTED_NOTE] = None
            return handle_torch_function(script, (), call, *args, **kwargs)
        return call(*args, **kwargs)

    return run


def no_compiled_call(usual: None) -> property:
    """Let no module have what its `compile()` made; it is kept."""
    name = "_compiled_call_impl"
    return property(
        lambda module: None,
        lambda module, value: vars(module).update({name: value}),
    )


MODULES = SharedPatches((nn.Module, "_call_impl", followed_call))
RECORDER_PATCHES = SharedPatches(
    (functional, "has_torch_function", seen_attention),
    (torch._C.ScriptFunction, "__call__", seen_script),
    (torch._C.ScriptMethod, "__call__", seen_script),
)


COMPILERS = SharedPatches(
    (
        "torch._dynamo.eval_frame",
        "_stance",
        lambda usual: replace(usual, stance="force_eager"),
    ),
    (nn.Module, "_compiled_call_impl", no_compiled_call),
)


@contextmanager
def output_hidden() -> Iterator[None]:
    """Discard what is printed, and what is warned of."""
    with (
        open(devnull, "w", encoding="utf-8") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


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


def eagerly() -> SharedPatches:
    """Let compiled code run as it is written, line by line."""
    return COMPILERS


@contextmanager
def noting() -> Iterator[dict[str, None]]:
    """Give the notes on what cannot be seen, while something runs."""
    before, THREAD.notes = THREAD.notes, dict[str, None]()
    try:
        yield THREAD.notes
    finally:
        THREAD.notes = before
