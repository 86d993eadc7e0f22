"""Our weights, under the names and in the form that source 000 has."""

from torch import Tensor

NAMES = {
    r"_embedding\.tokens\.weight": "_words.table",
    r"_embedding\.positions": "_places",
    r"(query|key|value|output|hidden)\.weight": r"\1",
    r"norms\.(\d)": r"skips.\1.norm",
    r"norm\.weight": "norm.gain",
    r"norm\.bias": "norm.shift",
    r"feed_forward\.hidden": "bend.widen",
    r"feed_forward\.output": "bend.narrow",
    r"self_attention": "own",
    r"cross_attention": "cross",
    r"head\.weight": "head.table",
}


def transposed(name: str, weight: Tensor) -> Tensor:
    """Our x Wᵀ is the source's x W; its gains and offsets are rows."""
    if weight.ndim == 1:
        return weight[None]
    tables = "tokens.weight", "positions.table"
    return weight if name.endswith(tables) else weight.T
