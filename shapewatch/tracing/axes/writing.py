"""Writing: a line through sizes, as one writes a formula by hand."""

import math
from fractions import Fraction

Column = tuple[int, ...]  # the sizes of a name or an axis, one a run


def line(values: Column, sizes: Column) -> tuple[Fraction, Fraction]:
    """Fit sizes = factor * values + added, by the first two that differ."""
    for value, size in zip(values, sizes):
        if value != values[0]:
            factor = Fraction(size - sizes[0], value - values[0])
            return factor, sizes[0] - factor * values[0]
    return Fraction(0), Fraction(sizes[0])


def formula_text(text: str, factor: Fraction, added: Fraction) -> str:
    """Write factor * text + added as one writes it by hand."""
    if added.denominator > 1:
        whole = math.lcm(factor.denominator, added.denominator)
        return f"({formula_text(text, factor * whole, added * whole)})/{whole}"
    many = {1: "", -1: "-"}.get(factor.numerator, str(factor.numerator))
    over = "" if factor.denominator == 1 else f"/{factor.denominator}"
    if factor < 0 < added:
        return f"{added}{many}{text}{over}"
    return f"{many}{text}{over}" + (f"{int(added):+}" if added else "")
