"""State: what a model and its inputs hold, to be put back bit for bit."""

import random
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from tformer_lite.tracing.record.held import PLAIN, base_of, held

DICTIONARIES = {dict, OrderedDict}


class State:
    """What some things hold, all the way down, and the random numbers that
    are ahead, as they are when this is made.

    `put_back` makes them so again, in place: every object stays the one that
    it was. What has not changed is not touched.
    """

    def __init__(self, *things: Any):
        self.known: dict[
            int, Any
        ] = {}  # by id: alive, so that it stays theirs
        self.empty: list[dict] = []  # most are: modules have many for hooks
        self.ways: list[Callable[[], None]] = [random_numbers()]
        ahead: list[Any] = [things]
        with torch._C.DisableTorchFunction(), torch.no_grad():
            while ahead:
                thing = ahead.pop()
                if id(thing) in self.known:
                    continue
                self.known[id(thing)] = thing
                if type(thing) in DICTIONARIES and not thing:
                    self.empty.append(thing)
                else:
                    parts, way = held(thing)
                    self.ways += [way] if way else []
                    ahead += [x for x in parts if type(x) not in PLAIN]

    def put_back(self) -> None:
        """Give all things back what they held, as far as they let us."""
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for thing in filter(None, self.empty):
                base_of(thing).clear(thing)
            ways = iter(self.ways)
            while is_refused(ways):
                pass

    def __enter__(self) -> "State":
        return self

    def __exit__(self, *error: object) -> None:
        self.put_back()


def is_refused(ways: Iterator[Callable[[], None]]) -> bool:
    """Give things back what they held; whether one of them refused it."""
    try:
        for way in ways:
            way()
    except Exception:
        return True
    return False


def random_numbers() -> Callable[[], None]:
    """Remember which random numbers are next: Python's, NumPy's, PyTorch's."""
    own, numpys = random.getstate(), np.random.get_state()
    torchs = [(one, one.get_state()) for one in generators()]

    def put_back() -> None:
        random.setstate(own)
        np.random.set_state(numpys)
        for one, state in torchs:
            one.set_state(state)

    return put_back


def generators() -> list[torch.Generator]:
    """List PyTorch's own generators, of the devices that are in use."""
    cuda = torch.cuda.is_initialized()
    return [
        torch.default_generator,
        *(torch.cuda.default_generators if cuda else ()),
    ]


def seed_all(seed: int) -> None:
    """Seed all random numbers; no device wakes up for it."""
    random.seed(seed)
    np.random.seed(seed)
    for one in generators():
        one.manual_seed(seed)
