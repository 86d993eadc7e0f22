"""A small translator, which answers are put into."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from classroom.blocks import blocks_around
from classroom.cases import Case, Draw
from tformer_lite.model.config import tiny_translator
from tformer_lite.model.models import EncoderDecoder


def in_the_model(draw: Draw, field: str, part: Callable, about: str) -> Case:
    """Put a part into a small translator with random parameters."""
    sizes = {"B": 2, "S": 7, "T": 5, "H": 2, "D": 3, "C": 6, "F": 7, "V": 19}
    make: dict[str, Any] = {
        "vocab_size": 19,
        "d_model": 6,
        "n_heads": 2,
        "d_ff": 7,
    }
    own = blocks_around(part) if field == "residual" else part
    config = replace(tiny_translator, **make | {field: own})
    model = EncoderDecoder(config)
    shapes = {name: x.shape for name, x in model.state_dict().items()}
    state = {n: draw.numbers(*s, scale=0.4) for n, s in shapes.items()}
    src, tgt = (draw.ids(2, n, below=19) for n in (7, 5))
    src[:, 0] = tgt[:, 0] = 2
    return Case((src, tgt), sizes, about, make, state, field)
