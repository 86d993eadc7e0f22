"""Meta tensors: runs in which large weights have shapes, and no numbers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

from shapewatch.tracing.record.models import ModelCall
from shapewatch.tracing.record.state import MANY_NUMBERS, State, aside
from shapewatch.tracing.record.tensors import (
    name_of,
    storage,
    targets,
    tensors,
)

WORTH = 2**21  # numbers: for fewer, to compute is as quick
META = torch.device("meta")
SITES = Tensor, torch.device  # what is on a device, or is one
DEVICE_OF = Tensor.device.__get__


def is_large(thing: Any) -> bool:
    """Whether something is a parameter of many numbers."""
    large = type(thing) is Parameter and thing.numel() >= MANY_NUMBERS
    return large and thing.is_floating_point() and thing.is_cpu


class ProbeStart:
    """What a call holds, or what builds it, when this was made: where each
    probe starts.

    Large parameters are not copied before a probe needs to compute with
    them: then they start as they are at that time.
    """

    def __init__(self, call: ModelCall, build: Callable | None):
        self.call, self.build = call, build
        self.things: tuple = (build, call.options) if build else call
        large = [*filter(is_large, call.whole.parameters())]
        self.is_large = sum(x.numel() for x in large) >= WORTH
        self.large = [] if build else large
        self.large_state: State | None = None
        self.small_state = State(*self.things, left=self.large)

    def put_back(self, computes: bool) -> None:
        """Let a probe start, and say whether it computes."""
        if computes and self.large:
            self.large_state = self.large_state or State(*self.large)
            self.large_state.put_back(counted=True)
        self.small_state.put_back()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Run probes, and leave no trace of them."""
        with aside(), State(*self.things, left=self.large):
            try:
                yield
            finally:
                if self.large_state:
                    self.large_state.put_back()


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
        given = given | {"device": META} if given.get("device") else given
        args, given = tree_map_only(SITES, self.on_meta, (args, given))
        if changed:
            return function(*args, **given)
        return result_like(self.made, function, args, given)

    def has_none(self, x: Tensor) -> bool:
        """Whether a tensor has no numbers in this run."""
        return x.is_meta or is_large(x) or storage(x) in self.written

    def on_meta(self, thing: Any) -> Any:
        """Give the meta tensor of a tensor: always the same, where it has no
        numbers in this run; or the device of these."""
        if isinstance(thing, torch.device):
            return META
        if thing.is_meta or not self.has_none(thing):
            return meta_like(thing)
        if id(thing) not in self.twins:
            self.twins[id(thing)] = thing, meta_like(thing)
        return self.twins[id(thing)][1]


def meta_like(x: Tensor) -> Tensor:
    """Give a meta tensor like another: a leaf, where that is one."""
    if x.is_meta or x.grad_fn is not None:
        return x.to(META)
    return x.detach().to(META).requires_grad_(x.requires_grad)


def result_like(made: dict, function: Any, args: tuple, given: dict) -> Any:
    """Call a function, or give what it `made` of the like: layers repeat, and
    to ask what shape comes out takes longer than to look it up."""
    try:
        outline = tree_map_only(SITES, outline_of, (args, [*given.items()]))
        key = function, outline[0], *outline[1]
        if key in made:
            return made[key].view_as(made[key])
    except TypeError:  # not all can be looked up
        return function(*args, **given)
    result = function(*args, **given)
    if type(result) is Tensor and all(result is not x for x in args):
        made[key] = result.view_as(result)
    return result


def outline_of(thing: Any) -> Any:
    """Tell all of a tensor but for its numbers."""
    if isinstance(thing, torch.device):
        return thing
    return thing.shape, thing.stride(), thing.dtype, thing.requires_grad
