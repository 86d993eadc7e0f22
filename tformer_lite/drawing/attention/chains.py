"""Chains of matrices: what a strip shows, and how it is said in words."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from tformer_lite.drawing.surface.matrix import Matrix, largest, table_of


@dataclass(frozen=True)
class Operator:
    """What makes the next matrix: its name, what is said below its arrow,
    and the mask, if it is one."""

    name: str
    notes: Sequence[str] = ()
    mask: Tensor | None = None


Links = Sequence[Matrix | Operator]


@dataclass(frozen=True)
class Chain:
    """Matrices with operators between, and the number of the framed row."""

    name: str
    links: Links
    row: int | None = None

    @cached_property
    def matrices(self) -> list[Matrix]:
        """The matrices alone."""
        return [each for each in self.links if isinstance(each, Matrix)]

    def named_links(self) -> Iterator[str]:
        """Name each link, a matrix with its shape if that is a new one."""
        said = ""
        for link in self.links:
            if isinstance(link, Operator):
                yield link.name
                continue
            shape = shape_of(link)
            yield f"{link.title} {shape}" if shape != said else link.title
            said = shape

    def words(self) -> Iterator[str]:
        """Say what is there, to someone who does not see it."""
        links = ", ".join(self.named_links())
        yield f"{self.name}: {links}." if self.name else f"{links}."
        for matrix in self.matrices:
            if matrix.hidden.any():
                hidden, cells = matrix.hidden.sum(), matrix.hidden.numel()
                yield f"{hidden} of {cells} cells are masked."
                break
        if self.row is not None:
            word = self.matrices[0].labels[0][self.row]
            yield f"Row {self.row} ({word}) is framed."
        last = self.matrices[-1]
        yield largest(last).replace("Largest", f"Largest of {last.title}")


def shape_of(matrix: Matrix) -> str:
    """Write the shape of a matrix with its letters."""
    return f"({', '.join(matrix.axes)}) = {tuple(matrix.values.shape)}"


def description(chains: Sequence[Chain]) -> str:
    """Say what chains show: one paragraph of words, then the numbers."""
    words = " ".join(said for chain in chains for said in chain.words())
    numbers = [
        table_of(matrix, f"{chain.name} {matrix.title}".strip())
        for chain in chains
        for matrix in chain.matrices
    ]
    return "\n\n".join([words, *filter(None, numbers)])


def unit(matrix: Matrix) -> str:
    """Tell what a matrix's values are: those of one unit share a scale."""
    if matrix.kind == "weights":
        return "weights"
    return "scores" if set(matrix.axes) <= {"T", "S"} else "channels"


def scales(matrices: Iterable[Matrix]) -> dict[str, tuple[float, float]]:
    """Find the lowest and the highest value that a unit's colours show."""
    limits: dict[str, float] = {}
    for matrix in matrices:
        sizes = matrix.values.double()[~matrix.hidden].abs()
        most = max([0.0, *sizes[sizes.isfinite()].tolist()])
        limits[unit(matrix)] = max(limits.get(unit(matrix), 0), most)
    ends = {
        name: (-(most or 1.0), most or 1.0) for name, most in limits.items()
    }
    return ends | ({"weights": (0, 1)} if "weights" in ends else {})
