"""The command `check`: a report on a model of one's own, or of this module."""

from argparse import Namespace
from functools import partial
from typing import Any

from torch import Tensor

from shapewatch.commands import checking
from tformer_lite.example.running import example_ids
from tformer_lite.model.models import DecoderOnly, EncoderDecoder


def check_model(args: Namespace) -> int:
    """Check a model for what holds for every right one: causality, padding,
    order, gradients and more. A factory gives the model, and what it reads.
    The exit code is 1 when something is broken."""
    return checking.check_model(args, partial(with_example, pad=args.pad))


def with_example(target: str, pad: int | None = None) -> tuple[Any, tuple]:
    """Call a factory; a model of this module that comes alone reads the
    book's running example, padded with what is said to be padding."""
    model, inputs = checking.made(target)
    if inputs or not isinstance(model, (DecoderOnly, EncoderDecoder)):
        return model, inputs
    own = model.config.pad
    pad = own if pad is None else pad
    return model, tuple(exchanged(x, own, pad) for x in example_ids(model))


def exchanged(ids: Tensor, one: int, other: int) -> Tensor:
    """Let two ids change places."""
    ones, others = ids == one, ids == other
    return ids.masked_fill(ones, other).masked_fill(others, one)
