"""What the named text of the running example costs, in CPU time.

python -m benchmarks.naming

The model is run at its own sizes and at others, every axis is named, and
the table is written: str(trace(model, src, tgt, dims=..., build=...)).
"""

import time
from dataclasses import replace
from functools import partial

import torch

from benchmarks.alone import alone
from benchmarks.rounds import lasting, spread
from tformer_lite import (
    EncoderDecoder,
    tiny_translator,
    trace,
)

DIMS = {"B": 2, "S": 8, "T": 8, "H": 3, "D": 4, "C": "H*D"}
ROUNDS = 200


def build(B: int, S: int, T: int, H: int, D: int) -> tuple:
    """Make the tiny translator at any sizes, and ids for it."""
    sizes = {"d_model": H * D, "n_heads": H, "d_ff": 4 * H * D}
    model = EncoderDecoder(replace(tiny_translator, max_len=16, **sizes))
    ids = [torch.randint(2, 1024, (B, n)) for n in (S, T)]
    return model.eval(), ids


def text() -> str:
    """Trace the running example, and write the table."""
    return str(trace(build=build, dims=DIMS))


def cpu_times() -> list[list[float]]:
    """Time the text and, for scale, a plain run: milliseconds of CPU."""
    model, ids = build(2, 8, 8, 3, 4)
    runs = text, partial(model, *ids)
    text()
    return [
        [1000 * lasting(run, time.process_time) for run in runs]
        for _ in range(ROUNDS)
    ]


def main() -> None:
    """Print the medians and the quartiles."""
    times = alone("benchmarks.naming:cpu_times")
    named, plain = (spread(column, 1) for column in zip(*times))
    print(f"the named text: {named} ms of CPU")
    print(f"   a plain run: {plain} ms of CPU")


if __name__ == "__main__":
    main()
