"""What it costs to name every axis of the running example, and to check it:
no other tool does either."""

from dataclasses import replace
from functools import partial

import torch

from benchmarks.rounds import TRYING, row, rows_in_turns, seconds_of
from gallery import bugs, plant_and_report
from tformer_lite import (
    EncoderDecoder,
    report,
    tiny_translator,
    trace,
)

DIMS = {"B": 2, "S": 8, "T": 8, "H": 3, "D": 4, "C": "H*D"}


def build(B: int, S: int, T: int, H: int, D: int) -> tuple:
    """Make the tiny translator at any sizes, and ids for it."""
    sizes = {"d_model": H * D, "n_heads": H, "d_ff": 4 * H * D}
    model = EncoderDecoder(replace(tiny_translator, max_len=16, **sizes))
    ids = [torch.randint(2, 1024, (B, n)) for n in (S, T)]
    return model.eval(), ids


def example_rows() -> list[dict]:
    """Run the running example plainly, traced, named, and checked."""
    model, ids = build(2, 8, 8, 3, 4)
    runs = {
        "a plain run": partial(model, *ids),
        "ours: a trace": partial(trace, model, *ids),
        "ours: all axes named, as text": named_text,
        "ours: the report of all checks": partial(report, model),
    }
    return rows_in_turns(runs)


def named_text() -> str:
    """Trace the running example at several sizes, and write the table."""
    return str(trace(build=build, dims=DIMS))


def gallery_rows() -> list[dict]:
    """Ask all questions of all models of the gallery, once."""
    some = list(bugs())[: 2 if TRYING else None]
    seconds = [seconds_of(partial(plant_and_report, some))]
    return [row("ours: the table of what finds what", seconds, seconds)]
