"""The command `check`: a report on a model of one's own, or of this module."""

from argparse import Namespace
from typing import Any

from shapewatch.commands import checking
from tformer_lite.example.running import example_ids
from tformer_lite.model.models import DecoderOnly, EncoderDecoder


def check_model(args: Namespace) -> int:
    """Check a model for what holds for every right one: causality, padding,
    order, gradients and more. A factory gives the model, and what it reads.
    The exit code is 1 when something is broken."""
    return checking.check_model(args, with_example)


def with_example(target: str) -> tuple[Any, tuple]:
    """Call a factory; a model of this module that comes alone reads the
    book's running example."""
    model, inputs = checking.made(target)
    if not inputs and isinstance(model, (DecoderOnly, EncoderDecoder)):
        return model, example_ids(model)
    return model, inputs
