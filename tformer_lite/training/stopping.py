"""How a training is asked to stop: Ctrl-C, SIGTERM, and other processes."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import distributed

from tformer_lite.text.datasets import LabelledIds
from tformer_lite.training.batches import Data, Sample, processes


class StoppedError(Exception):
    """Raised between two batches of a validation that is to stop."""


class Stop:
    """Whether a training is to stop: the number of the signal, or 0."""

    signal = 0


class Stoppable(Sample):
    """A sample of the data that is not given any more after a stop."""

    def __init__(self, data: Data, most: int, stop: Stop):
        super().__init__(data, most)
        self.stop = stop

    def __getitem__(self, rows: list[int]) -> LabelledIds:
        if self.stop.signal:
            raise StoppedError
        return super().__getitem__(rows)


@contextmanager
def interruption() -> Iterator[Stop]:
    """Let Ctrl-C and SIGTERM wait until a step is done: `Stop` says that one
    came, and in the end it is raised, as KeyboardInterrupt or as SystemExit
    with 143. A second Ctrl-C does not wait.

    Only the main thread receives either, and a SIGTERM that the program
    handles itself is left alone.
    """
    stop = Stop()

    def ask(number: int, _: object) -> None:
        if stop.signal and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.signal = stop.signal or number

    own = signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    signals = [signal.SIGINT] if own else [signal.SIGINT, signal.SIGTERM]
    if threading.current_thread() is not threading.main_thread():
        signals = []
    old = [(number, signal.signal(number, ask)) for number in signals]
    try:
        yield stop
    finally:
        for number, handler in old:
            signal.signal(number, handler)
    if stop.signal == signal.SIGTERM:
        raise SystemExit(128 + signal.SIGTERM)
    if stop.signal:
        raise KeyboardInterrupt


def largest_anywhere(*numbers: int) -> list[int]:
    """Give the largest of each number in any of the processes."""
    if processes()[0] == 1:
        return list(numbers)
    nccl = distributed.get_backend() == "nccl"
    both = torch.tensor(numbers, device="cuda" if nccl else "cpu")
    distributed.all_reduce(both, distributed.ReduceOp.MAX)
    return both.tolist()
