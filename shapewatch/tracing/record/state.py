"""State: what a model and its inputs hold, to be put back bit for bit."""

import random
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import torch

from shapewatch.tracing.record.held import PLAIN_STATE, held_state

PutBack = tuple[Callable[[], None], Callable[[], None]]
CONTAINERS = {dict, OrderedDict, set, list}


class State:
    """What some things hold, all the way down, and the random numbers that
    are ahead, as they are when this is made.

    `put_back` makes them so again, in place: every object stays the one that
    it was. What has not changed is not touched. Of no things, it is nothing.
    What stands in a state `beside` it is as that has it.
    """

    def __init__(self, *things: Any, beside: "State | None" = None):
        # By id, which is theirs while alive.
        self.known: dict[int, Any] = {**beside.known} if beside else {}
        # Most are empty: modules have many for hooks.
        self.empty: list[Any] = [*beside.empty] if beside else []
        self.ways: list[PutBack] = [*beside.ways] if beside else []
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
                    parts, way, counted = held_state(thing)
                    self.ways += [(way, counted or way)] if way else []
                    ahead += [x for x in parts if type(x) not in PLAIN_STATE]
        self.ways += [(random_numbers(),) * 2] if things else []

    def put_back(self) -> None:
        """Give all things back what they held, as far as they let us."""
        self.go(way for way, _ in self.ways)

    def put_back_counted(self) -> None:
        """The same, but for a few numbers that are written into a large
        tensor unknown to PyTorch: that is faster. Let `put_back` look at all
        in the end."""
        self.go(way for _, way in self.ways)

    def go(self, ways: Iterator[Callable[[], None]]) -> None:
        """Go these ways back; each that is refused is left out."""
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for thing in filter(None, self.empty):
                thing.clear()
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
