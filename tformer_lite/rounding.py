"""Rounding: what is printed of a number, and which number is the largest as
printed. A processor's last bit has no say in either."""

import torch
from torch import Tensor

DECIMALS = 2  # decimals that are printed
SOUND = 6  # decimals that every processor agrees on


def round_number(value: float) -> float:
    """Round a number to the decimals that are printed.

    First to those that every processor agrees on: what should be 0.125 is
    rounded as 0.125, however it came out. No zero keeps a minus.
    """
    return round(round(value, SOUND), DECIMALS) + 0.0


def decimals(value: float) -> str:
    """Write a number with two decimals, and no zero with a minus."""
    return f"{round_number(value):.{DECIMALS}f}"


def first_largest(values: Tensor) -> int:
    """Find the place of the largest number in a tensor laid flat: of those
    that are printed alike, the first in reading order."""
    printed = list(map(round_number, values.flatten().tolist()))
    return int(torch.tensor(printed, dtype=torch.double).argmax())
