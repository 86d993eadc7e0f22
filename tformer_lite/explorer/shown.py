"""One attention as it is shown: a sentence's numbers, queries in rows."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from shapewatch.tracing.axes.names import shape_text
from shapewatch.tracing.questions.attention import (
    Attention,
    agree,
    rows_sum_to_1,
    scale_between,
)

SQUARE = "scores", "masked", "weights"
OWN = "queries", "keys", "values", "mixed"


@dataclass(frozen=True)
class Shown:
    """An attention of one sentence: its `parts` are (heads, rows, columns),
    the words those of queries and keys. Scores are `factor` times the
    products of queries and keys; 0 if they are something else."""

    title: str
    path: str
    parts: dict[str, Tensor]
    factor: float
    rows: list[str]
    columns: list[str]

    @property
    def heads(self) -> int:
        """Count the heads."""
        return len(self.parts["weights"])

    def data(self) -> dict[str, Any]:
        """Write all of it for a script: numbers as 32-bit floats, base64."""
        packed = {name: pack(x) for name, x in self.parts.items()}
        names = "path", "heads", "factor", "rows", "columns"
        return {name: getattr(self, name) for name in names} | packed


def times(parts: dict[str, Tensor]) -> float:
    """Tell how many times the products of queries and keys scores are."""
    return scale_between(parts["queries"], parts["keys"], parts["scores"])


def pack(x: Tensor) -> str:
    """Write numbers, one after the other, lowest byte first."""
    return base64.b64encode(x.numpy().astype("<f4").tobytes()).decode()


def shown(
    found: Attention,
    example: int,
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
) -> Shown:
    """Choose a sentence, and lay its numbers out. Raises ValueError for a
    sentence that is not there, and for words that do not fit."""
    square = dict(zip(SQUARE, laid(found)))
    own = {name: getattr(found, name) for name in OWN}
    parts = square | {name: x for name, x in own.items() if x is not None}
    weights = parts["weights"]
    several = weights.ndim > 3 or found.axes[0].name == "B"
    if several and not -len(weights) <= example < len(weights):
        raise ValueError(f"{example=}: this run has {len(weights)} sentences.")
    chosen = {
        name: heads_of(x[example] if several else x)
        for name, x in parts.items()
    }
    order = [*OWN[:3], *SQUARE, OWN[3]]
    return Shown(
        f"{found.path or 'the model'} {shape_text(found.axes)}",
        found.path,
        {name: chosen[name] for name in order if name in chosen},
        times(chosen) if "queries" in chosen else 0.0,
        labels("rows", rows, weights.shape[-2]),
        labels("columns", columns, weights.shape[-1]),
    )


def laid(found: Attention) -> list[Tensor]:
    """Put queries in rows and keys in columns."""
    three = [found.scores, found.masked, found.weights]
    ways = three, [x.mT for x in three]
    for way in ways:
        if explains(way[-1], found) or (
            found.values is None and rows_sum_to_1(way[-1])
        ):
            return list(way)
    names = [axis.name for axis in found.axes]
    size = found.weights.ndim
    sums = (found.weights.movedim(i, -1) for i in range(size))
    key = next((i for i, x in enumerate(sums) if rows_sum_to_1(x)), size - 1)
    rest = [i for i in range(size) if i != key]
    query = next((i for i in rest if names[i].startswith("T")), rest[-1])
    rest.remove(query)
    return [x.permute(*rest, query, key) for x in three]


def explains(weights: Tensor, found: Attention) -> bool:
    """Whether weights, this way round, mix the values to what came of it."""
    v, made = found.values, found.mixed
    if v is None or made is None or weights.shape[-1] != v.shape[-2]:
        return False
    return agree(weights @ v.to(weights), made)


def heads_of(x: Tensor) -> Tensor:
    """Give the heads of a sentence: (..., T, S) -> (H, T, S)."""
    return x.detach().cpu().float().reshape(-1, *x.shape[-2:]).contiguous()


def labels(what: str, given: Sequence[str] | None, size: int) -> list[str]:
    """Check words; number positions without them."""
    if given is None:
        return [str(i) for i in range(size)]
    if len(given) != size:
        raise ValueError(
            f"{len(given)} words for {size} {what}: give one for each."
        )
    return list(map(str, given))
