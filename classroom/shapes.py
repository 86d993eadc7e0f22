"""Shapes with the letters of their axes, and how two of them differ."""

from collections.abc import Mapping, Sequence
from itertools import combinations

Sizes = Mapping[str, int]


def named_shape(
    shape: Sequence[int], sizes: Sizes, letters: Sequence[str] = ()
) -> str:
    """Write a shape with the letters of its axes: (B=3, T=13)."""
    if len(letters) != len(shape):
        letters = [letter_of(n, sizes) for n in shape]
    words = [
        str(n) if name in ("", str(n)) else f"{name}={n}"
        for n, name in zip(shape, letters)
    ]
    return f"({', '.join(words)}{',' if len(words) == 1 else ''})"


def letter_of(size: int, sizes: Sizes) -> str:
    """Name an axis by its size: a letter, a product of two, or "" for one
    that nothing here has."""
    for letter, n in sizes.items():
        if n == size:
            return letter
    for one, other in combinations(sizes, 2):
        if sizes[one] * sizes[other] == size:
            return f"{one}*{other}"
    return ""


def shape_difference(
    got: Sequence[int], expected: Sequence[int], sizes: Sizes
) -> str:
    """Say what turns the expected shape into the one that came."""
    mine, right = list(got), list(expected)
    if sorted(mine) == sorted(right):
        return reordered(mine, right)
    if [n for n in mine if n != 1] == [n for n in right if n != 1]:
        return ones(len(mine), len(right))
    if len(mine) == len(right):
        return resized(mine, right, sizes)
    return fewer_or_more(mine, right, sizes)


def reordered(mine: list[int], right: list[int]) -> str:
    """Name the axes that changed places."""
    moved = [i for i, pair in enumerate(zip(mine, right)) if len({*pair}) > 1]
    if len(moved) == 2:
        one, other = moved
        return f"axes {one} and {other} are swapped: transpose({one}, {other})"
    order = [mine.index(n) for n in right]
    return f"the axes are in another order: permute{tuple(order)} mends it"


def ones(mine: int, right: int) -> str:
    """Say that only axes of size 1 are missing, too many, or elsewhere."""
    if mine == right:
        return "the axis of size 1 stands in another place"
    if mine < right:
        return "an axis of size 1 is missing: unsqueeze, or index with None"
    return "there is an axis of size 1 too many: squeeze it"


def resized(mine: list[int], right: list[int], sizes: Sizes) -> str:
    """Name the axes that have another size."""
    found = [
        f"axis {i} is {named(n, sizes)} and should be {named(m, sizes)}"
        for i, (n, m) in enumerate(zip(mine, right))
        if n != m
    ]
    return "; ".join(found)


def named(size: int, sizes: Sizes) -> str:
    """Write one size with its letter."""
    letter = letter_of(size, sizes)
    return f"{letter}={size}" if letter else str(size)


def fewer_or_more(mine: list[int], right: list[int], sizes: Sizes) -> str:
    """Say which axis was merged, lost or added."""
    few, many = sorted((mine, right), key=len)
    for i in range(len(many) - 1):
        if few == [*many[:i], many[i] * many[i + 1], *many[i + 2 :]]:
            pair = " and ".join(named(n, sizes) for n in many[i : i + 2])
            if few is mine:
                return f"axes {i} and {i + 1}, {pair}, are merged into one"
            return f"{pair} should be one axis: flatten({i}, {i + 1})"
    for i, n in enumerate(many):
        if few == [*many[:i], *many[i + 1 :]]:
            what = "missing" if few is mine else "too many"
            return f"axis {i}, {named(n, sizes)}, is {what}"
    return f"it should have {len(right)} axes, and has {len(mine)}"
