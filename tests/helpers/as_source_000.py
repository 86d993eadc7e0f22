"""Our weights, under the names and in the form that source 000 has."""

from torch import Tensor

NAMES = {
    r"_embedding\.tokens\.weight": "_words.table",
    r"_embedding\.positions": "_places",
    r"(query|key|value|output|hidden|head)\.weight": r"\1",
}


def transposed(name: str, weight: Tensor) -> Tensor:
    """Our x Wᵀ is the source's x W; its gains and offsets are rows."""
    if weight.ndim == 1:
        return weight[None]
    tables = "tokens.weight", "positions.table"
    return weight if name.endswith(tables) else weight.T
