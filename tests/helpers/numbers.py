"""When two printed outputs agree: words and whole numbers to the letter,
decimals to one unit in the last printed place (processors round apart)."""

import re
from decimal import Decimal

DECIMAL = re.compile(r"-?\d+\.\d+(?:e[+-]\d+)?")


def agree(test: str, reference: str) -> bool:
    """Compare an output with the stored one."""
    if skeleton(test) != skeleton(reference):
        return False
    pairs = zip(DECIMAL.findall(test), DECIMAL.findall(reference), strict=True)
    return all(one_unit_apart(Decimal(a), Decimal(b)) for a, b in pairs)


def skeleton(text: str) -> list[str]:
    """What is left of a text without its decimals and its spacing."""
    return DECIMAL.sub(" 0.0 ", text).split()


def one_unit_apart(a: Decimal, b: Decimal) -> bool:
    """Tell whether two decimals differ by one unit in the last place."""
    places = a.as_tuple().exponent, b.as_tuple().exponent
    return places[0] == places[1] and abs(a - b) <= Decimal(10) ** places[0]
