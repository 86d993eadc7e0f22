"""State: what a model and its inputs hold, to be put back bit for bit."""

import random
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import torch

from tformer_lite.tracing.record.held import PLAIN, held

CONTAINERS = {dict, OrderedDict, set, list}


class State:
    """What some things hold, all the way down, and the random numbers that
    are ahead, as they are when this is made.

    `put_back` makes them so again, in place: every object stays the one that
    it was. What has not changed is not touched. Of no things, it is nothing.
    """

    def __init__(self, *things: Any):
        self.known: dict[int, Any] = {}  # by id, which is theirs while alive
        self.empty: list[Any] = []  # most are: modules have many for hooks
        self.ways: list[Callable[[], None]] = []
        ahead: list[Any] = [things]
        with torch._C.DisableTorchFunction(), torch.no_grad():
            while ahead:
                thing = ahead.pop()
                if id(thing) in self.known:
                    continue
                self.known[id(thing)] = thing
                if type(thing) in CONTAINERS and not thing:
                    self.empty.append(thing)
                else:
                    parts, way = held(thing)
                    self.ways += [way] if way else []
                    ahead += [x for x in parts if type(x) not in PLAIN]
        self.ways += [random_numbers()] if things else []

    def put_back(self) -> None:
        """Give all things back what they held, as far as they let us."""
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for thing in filter(None, self.empty):
                thing.clear()
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
    own, numpy = random.getstate(), sys.modules.get("numpy")
    theirs = numpy and numpy.random.get_state()
    states = [(one, one.get_state()) for one in generators()]

    def put_back() -> None:
        random.setstate(own)
        if numpy:
            numpy.random.set_state(theirs)
        for one, state in states:
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
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed)
    for one in generators():
        one.manual_seed(seed)
