"""The parts of a model: a tree of boxes, and the shapes that they give."""

from collections.abc import Sequence
from dataclasses import dataclass

from tformer_lite.tracing.axes.names import Axis

Shape = tuple[Axis, ...]
Named = list[tuple[str, Shape]]  # shapes, with the names of what has them


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the model: its name, what its box says, what it gives, which
    of a block's sublayers it belongs to (None outside a block), and, when it
    is an attention that is drawn larger, the parts inside it: each takes so
    many of three `lanes`, and `reads` what is not in the row above it."""

    name: str
    label: str
    gives: Named
    sublayer: int | None = None
    lanes: int = 0
    reads: Shape = ()
    parts: Sequence["Part"] = ()


@dataclass(frozen=True, eq=False)
class Side(Part):
    """The encoder or the decoder: its parts in the order in which they ran,
    and how many blocks it has."""

    n_blocks: int = 0

    @property
    def block(self) -> range:
        """Where in the list the parts of its block are."""
        inner = [i for i, p in enumerate(self.parts) if p.sublayer is not None]
        return range(inner[0], inner[-1] + 1)


def path_to(name: str, parts: Sequence[Part]) -> list[Part]:
    """Find the first part of a name, after all that it is in."""
    for part in parts:
        if part.name == name:
            return [part]
        if path := path_to(name, part.parts):
            return [part, *path]
    return []
