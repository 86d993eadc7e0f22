"""Progress: how far a report is, where somebody looks on and waits."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

PATIENCE, OFTEN = 3.0, 0.2  # seconds: before the first line, between two


class Progress:
    """A line on stderr that is written over: which check is running, for how
    long. There is none in a pipe, nor before three seconds of work."""

    def __init__(self) -> None:
        self.doing, self.width = "", 0
        self.start, self.last = time.monotonic(), 0.0
        self.work = time.thread_time()  # does not run while others do
        self.on = somebody_looks()

    def each(self, checks: Iterable[Callable]) -> Iterator[Callable]:
        """Give checks one by one, and wipe the line away in the end."""
        every = [*checks]
        try:
            for n, check in enumerate(every, 1):
                self.doing = f"{check.__name__} ({n} of {len(every)})"
                self.tick()
                yield check
        finally:
            self.write("")

    def tick(self) -> None:
        """Write the line, unless it is new, or too early."""
        now = time.monotonic()
        early = time.thread_time() - self.work < PATIENCE
        if self.on and not early and now - self.last > OFTEN:
            self.last = now
            self.write(f"report: {self.doing}, {now - self.start:.0f} s")

    def write(self, text: str) -> None:
        """Write over the line."""
        if text or self.width:
            end = "" if text else "\r"
            sys.stderr.write(f"\r{text.ljust(self.width)}{end}")
            sys.stderr.flush()
            self.width = len(text)


def somebody_looks() -> bool:
    """Whether stderr is a terminal, or what a notebook shows."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    tty = getattr(sys.stderr, "isatty", bool)()
    return tty or getattr(shell, "kernel", None) is not None
