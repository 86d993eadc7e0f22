"""What the name of an axis says of other sizes."""

import math
import re
from fractions import Fraction


def named_size(name, sizes):
    """What a printed name says of other sizes: 3(S+T)/2 is a product, and
    ⌈T/2⌉ is rounded up."""
    product = re.sub(
        r"(?<![A-Za-z_])(\d+|[)⌉⌋])(?=[A-Za-z_(⌈⌊])", r"\1*", name
    )
    for bracket, call in zip("⌈⌊⌉⌋", ("ceil(", "floor(", ")", ")")):
        product = product.replace(bracket, call)
    known = {"__builtins__": {}, "ceil": math.ceil, "floor": math.floor}
    exact = {letter: Fraction(n) for letter, n in sizes.items()}
    return eval(product, known, exact)
