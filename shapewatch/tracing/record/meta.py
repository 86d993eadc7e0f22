"""Meta tensors: runs in which large weights have shapes, and no numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.overrides import TorchFunctionMode

from shapewatch.tracing.record.models import root_module
from shapewatch.tracing.record.state import MANY_NUMBERS, State, aside
from shapewatch.tracing.record.tensors import (
    name_of,
    storage,
    targets,
    tensors,
)

META = torch.device("meta")
DEVICE_OF = Tensor.device.__get__


def is_large(thing: Any) -> bool:
    """Whether something is a parameter of many numbers."""
    large = type(thing) is Parameter and thing.numel() >= MANY_NUMBERS
    return large and thing.is_floating_point() and thing.is_cpu


class SmallState(State):
    """What some things hold, but for their large parameters, in `large`."""

    def __init__(self, *things: Any):
        self.large: list[Parameter] = []
        super().__init__(*things)

    def leaves(self, thing: Any) -> bool:
        """Whether something is to be left alone."""
        if is_large(thing):
            self.large.append(thing)
        return is_large(thing) or super().leaves(thing)


class Start:
    """What a model starts from in each probe: what some things held when
    this was made.

    Large parameters, which `MetaWeights` leaves alone, are not copied before
    a probe needs to compute with them: they start as they are then.
    """

    def __init__(self, model: Any, *things: Any):
        self.things, self.small = things, SmallState(*things)
        self.others: list[State] = []
        self.is_large = any(map(is_large, root_module(model).parameters()))

    def put_back(self) -> None:
        """Let a probe start, in which large parameters are not touched."""
        self.small.put_back()

    def put_all_back(self) -> None:
        """Let a probe start that computes."""
        self.others = self.others or [State(*self.small.large)]
        self.others[0].put_back(counted=True)
        self.small.put_back()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Run probes, and leave no trace of them."""
        with aside(), SmallState(*self.things):
            try:
                yield
            finally:
                for state in self.others:
                    state.put_back()


class MetaWeights(TorchFunctionMode):
    """Let large parameters be meta tensors, and all that is made with them:
    shapes are right, and nothing is computed.

    What does not depend on them is computed as ever, such as masks, and the
    device is said to be the CPU. Whoever asks for a number that nobody has
    worked out gets PyTorch's error.
    """

    def __init__(self):
        super().__init__()
        self.written = set[int]()  # memory into which such tensors went
        self.twins = dict[int, tuple[Tensor, Tensor]]()
        self.made = dict[tuple, Tensor]()

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        given = kwargs or {}
        if not any(map(self.has_none, tensors([args, given]))):
            return function(*args, **given)
        if function == DEVICE_OF:
            return torch.device("cpu")
        changed = targets(function, args, given)
        if name_of(function) == "__set__":
            changed = tensors(args[:1])
        self.written |= {storage(x) for x in changed if not x.is_meta}
        if given.get("device"):
            given = given | {"device": META}
        args, given = self.on_meta(args), self.on_meta(given)
        if changed:
            return function(*args, **given)
        return self.remembered(function, args, given)

    def remembered(self, function: Any, args: tuple, given: dict) -> Any:
        """Call a function, or give what it gave to the like: layers repeat,
        and to ask what shape comes out takes longer than to look it up."""
        try:
            key = function, outline_of(args), outline_of(given)
            if key in self.made:
                return self.made[key].view_as(self.made[key])
        except TypeError:  # not all can be looked up
            return function(*args, **given)
        result = function(*args, **given)
        if type(result) is Tensor and all(result is not x for x in args):
            self.made[key] = result.view_as(result)
        return result

    def has_none(self, x: Tensor) -> bool:
        """Whether a tensor has no numbers in this run."""
        if x.is_meta or is_large(x):
            return True
        return bool(self.written) and storage(x) in self.written

    def on_meta(self, value: Any) -> Any:
        """Give something with meta tensors in the place of others."""
        if isinstance(value, Tensor):
            return value if value.is_meta else self.twin(value)
        if isinstance(value, torch.device):
            return META
        if type(value) in (tuple, list):
            return type(value)(map(self.on_meta, value))
        if type(value) is dict:
            return {name: self.on_meta(x) for name, x in value.items()}
        return value

    def twin(self, x: Tensor) -> Tensor:
        """Give the meta tensor of a tensor: always the same, where it has no
        numbers in this run."""
        if not self.has_none(x):
            return meta_like(x)
        if id(x) not in self.twins:
            self.twins[id(x)] = x, meta_like(x)
        return self.twins[id(x)][1]


def meta_like(x: Tensor) -> Tensor:
    """Give a meta tensor like another: a leaf, where that is one."""
    if x.grad_fn is not None:
        return x.to(META)
    return x.detach().to(META).requires_grad_(x.requires_grad)


def outline_of(value: Any) -> Any:
    """Tell all of what a call is given but for numbers."""
    if isinstance(value, Tensor):
        kind = value.dtype, value.requires_grad
        return value.shape, value.stride(), *kind
    if type(value) in (tuple, list):
        return tuple(map(outline_of, value))
    if type(value) is dict:
        return tuple((name, outline_of(x)) for name, x in value.items())
    return type(value), value
