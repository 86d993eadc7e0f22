"""Training and evaluation: what drops out, and what has a gradient."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Run without dropout and gradients; then train again what did."""
    before = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        with torch.no_grad():
            yield
    finally:
        for part, training in before:
            if part.training is not training:
                part.training = training
