"""Kept values: what steps made, safe from what is written to it later."""

from collections import defaultdict
from collections.abc import Callable

from torch import Tensor

from tformer_lite.tracing.record.tensors import tensors


class Values:
    """Keep tensors by reference, and copy one only when it is overwritten."""

    def __init__(self):
        self.kept: dict[int, list[Tensor]] = {}
        self.given: dict[int, tuple[tuple, dict]] = {}
        self.users: dict[int, list[tuple[int, int]]] = defaultdict(list)

    def keep(
        self, step: int, made: list[Tensor], args: tuple, kwargs: dict | None
    ) -> None:
        """Keep what a step made, and what it was given."""
        self.kept[step] = [tensor.detach() for tensor in made]
        self.given[step] = args, kwargs or {}
        for i, tensor in enumerate(made):
            self.users[storage(tensor)].append((step, i))

    def save(self, targets: list[Tensor]) -> None:
        """Copy what is kept of the memory that is about to be written."""
        for target in targets:
            for step, i in self.users.pop(storage(target), []):
                self.kept[step][i] = self.kept[step][i].clone()


def storage(tensor: Tensor) -> int:
    """Tell the memory that a tensor's numbers are in."""
    return tensor.untyped_storage().data_ptr()


def targets(function: Callable, args: tuple, kwargs: dict) -> list[Tensor]:
    """List the tensors that a call writes to: x.add_(1), x += 1, x[0] = 1,
    out=x, inplace=True."""
    name = function.__name__
    inside = name.endswith("_") and not name.endswith("__")
    augmented = name.startswith("__i") and name not in NOT_WRITING
    found = [kwargs.get("out")]
    if inside or augmented or name == "__setitem__" or kwargs.get("inplace"):
        found = [*args[:1], *found]
    return tensors(found)


NOT_WRITING = {"__invert__", "__index__", "__int__", "__init__", "__iter__"}
