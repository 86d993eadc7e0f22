"""What an answer is called with: drawn sizes, which are primes, and numbers;
and shapes with the letters of these sizes."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

# Places along a sequence, channels and words; and what there is less of.
LONG_PRIMES, SHORT_PRIMES = (5, 7, 11, 13, 17, 19), (2, 3, 5, 7)
LONG_AXES = set("TSCFV")

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Case:
    """What an answer is called with.

    `sizes` gives the sizes of the axes by letter. `when` is empty for an
    ordinary case; of one at the edge it says what is special. An answer that
    is a class is built with `make`, in evaluation mode, and given the
    parameters in `state`. With `within`, the name of a part of a `Config`,
    the answer takes that part's place in a translator, whose sizes `make` has
    and whose parameters `state` has. Where `training` is True, what is built
    is in training mode: with a dropout of 1 it shows what goes through the
    dropout, since nothing else is left. `without` names what the answer's
    code may not use.
    """

    args: tuple[Any, ...] = ()
    sizes: Sizes = field(default_factory=dict)
    when: str = ""
    make: Mapping[str, Any] | None = None
    state: Mapping[str, Tensor] | None = None
    within: str = ""
    training: bool = False
    without: tuple[str, ...] = ()


class Draw:
    """Sizes and numbers that one seed gives; each size is one of the `few`
    smallest primes that are free."""

    def __init__(self, seed: int | str, few: int = len(LONG_PRIMES)):
        self.few, self.case = few, 0
        self.random = random.Random(str(seed))
        self.generator = torch.Generator().manual_seed(self.below(2**31))

    def below(self, n: int) -> int:
        """A whole number from 0 on that is less than n."""
        return self.random.randrange(n)

    def choice(self, *values: Any) -> Any:
        """One of several values."""
        return self.random.choice(values)

    def turn(self, *values: Any) -> Any:
        """Each of several values in as many cases, by turns."""
        return values[self.case % len(values)]

    def sizes(self, letters: Iterable[str]) -> dict[str, int]:
        """A prime for each letter, all different: T, S, C, F and V are 5 or
        more, the others 7 or less."""
        sizes: dict[str, int] = {}
        # Who has fewer primes to choose from goes first.
        for letter in sorted(letters, key=lambda x: (x in LONG_AXES, x)):
            primes = LONG_PRIMES if letter in LONG_AXES else SHORT_PRIMES
            free = [n for n in primes if n not in sizes.values()]
            smallest = (free or LONG_PRIMES)[: self.few]
            sizes[letter] = self.random.choice(smallest)
        return sizes

    def normal(self, *shape: int, scale: float = 1.0) -> Tensor:
        """Standard normal numbers, times a scale; with four decimals, which
        are sent and stored in few digits."""
        numbers = scale * torch.randn(shape, generator=self.generator)
        return numbers if scale < 0.1 else numbers.round(decimals=4)

    def tags(self, *shape: int) -> Tensor:
        """Whole numbers, all different, in no order."""
        n = torch.Size(shape).numel()
        return torch.randperm(n, generator=self.generator).view(shape)

    def ids(self, *shape: int, below: int, least: int = 0) -> Tensor:
        """Ids from `least` on that are less than `below`."""
        return torch.randint(least, below, shape, generator=self.generator)

    def flags(self, *shape: int, share: float = 0.6) -> Tensor:
        """True and False at random: this share of True."""
        return torch.rand(shape, generator=self.generator) < share


class SmallDraw(Draw):
    """Draws what can be read at a glance: sizes up to `few`, and numbers
    with one decimal."""

    def sizes(self, letters: Iterable[str]) -> dict[str, int]:
        """Give a size to each letter; several can be the same."""
        return {letter: 1 + self.below(self.few) for letter in letters}

    def choice(self, *values: Any) -> Any:
        """Give the least of several whole numbers, or one of other values."""
        whole = all(type(value) is int for value in values)
        return min(values) if whole else super().choice(*values)

    def normal(self, *shape: int, scale: float = 1.0) -> Tensor:
        """Standard normal numbers, times a scale."""
        return super().normal(*shape, scale=scale).round(decimals=1)


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
        if n == size > 1:
            return letter
    for left, right in combinations(sizes, 2):
        if sizes[left] * sizes[right] == size:
            return f"{left}*{right}"
    return ""
