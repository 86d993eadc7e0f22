"""Aside: runs that leave no trace."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shapewatch.tracing.record.shared import output_hidden
from shapewatch.tracing.record.state import State


@contextmanager
def aside(*things: Any) -> Iterator[None]:
    """Run something that leaves no trace: no printing, no warnings, no
    random numbers used up, and nothing changed of what some things hold."""
    with output_hidden(), State(*things), gc_paused():
        yield


@contextmanager
def gc_paused() -> Iterator[None]:
    """Let Python not look for garbage: among all of PyTorch's objects, that
    takes longer than many a run."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
