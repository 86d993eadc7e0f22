"""Aside: runs that leave no trace."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tformer_lite.tracing.record.shared import silent
from tformer_lite.tracing.record.state import State


@contextmanager
def aside(*things: Any) -> Iterator[None]:
    """Run something that leaves no trace: no printing, no warnings, no
    random numbers used up, and nothing changed of what some things hold."""
    with silent(), State(*things):
        yield
