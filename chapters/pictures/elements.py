"""Where each element of a tensor came from, found by its number."""

from dataclasses import dataclass

import torch
from torch import Tensor

from tformer_lite.drawing.surface.matrix import labels_for
from tformer_lite.drawing.surface.palette import tint

WORDS, CHANNELS = 20, 64  # so many have room
RULE = "a tensor of addresses, such as torch.arange(24).view(2, 12)"


class Source:
    """A matrix whose every number is the address of its place: the rows are
    words, and the columns their channels, in shares for `n_heads`.

    Raises ValueError for another tensor, for numbers that stand there twice,
    for sizes that cannot be drawn, and for words that do not fit.
    """

    def __init__(self, of: Tensor, words: list[str] | None, n_heads: int):
        check_addresses(of)
        self.shape, self.n_heads = tuple(of.shape), n_heads
        self.words = labels_for(words, self.shape[0])
        numbers = of.flatten().tolist()
        self.index = {number: i for i, number in enumerate(numbers)}

    def places(self, title: str, tensor: Tensor) -> Tensor:
        """Give the place in the matrix of each element of a tensor."""
        numbers = tensor.flatten().tolist()
        strange = [n for n in numbers if n not in self.index]
        if strange:
            raise ValueError(
                f"{title} has {strange[0]}, which is no address: take what an "
                "operation makes of the addresses, and calculate nothing."
            )
        found = torch.tensor([self.index[n] for n in numbers])
        return found.view(tensor.shape)

    def word(self, place: int) -> int:
        """Which row a place is in."""
        return place // self.shape[1]

    def channel(self, place: int) -> int:
        """Which column a place is in."""
        return place % self.shape[1]

    def colour(self, place: int) -> str:
        """A hue for the word, and a tint for the head."""
        head = self.channel(place) * self.n_heads // self.shape[1]
        return tint(self.word(place), head)


def check_addresses(of: Tensor) -> None:
    """Raise ValueError unless a matrix has a number for each place."""
    shape = tuple(of.shape)
    if of.ndim != 2 or not of.numel():
        raise ValueError(f"addresses have shape {shape}: give {RULE}.")
    if shape[0] > WORDS or shape[1] > CHANNELS:
        raise ValueError(
            f"addresses have shape {shape}, and a drawing has room for "
            f"{WORDS} words of {CHANNELS} channels: choose some of them."
        )
    if len(of.unique()) < of.numel():
        raise ValueError(f"a number stands in two places: give {RULE}.")


@dataclass(frozen=True)
class Elements:
    """A tensor of addresses that an operation has made: (T, C), with heads
    (H, T, D), or (N) as it lies in memory. `places` tell where each element
    was in the source."""

    title: str
    places: Tensor
    source: Source

    @property
    def groups(self) -> list[list[list[int]]]:
        """The places, by head and row; what has no heads is one group."""
        missing = 3 - self.places.ndim
        return self.places[(None,) * missing].tolist()

    @property
    def rows(self) -> list[list[int]]:
        """The places by row, those of all heads."""
        return [row for group in self.groups for row in group]

    @property
    def home(self) -> Tensor | None:
        """What `places` are when all elements are where attention wants
        them, or None for a shape that is not of that kind."""
        every = torch.arange(self.places.numel())
        if self.places.shape == self.source.shape:
            return every.view(self.source.shape)
        rows, columns = self.source.shape
        heads = self.source.n_heads
        if self.places.shape == (heads, rows, columns // heads):
            dealt = every.view(rows, heads, columns // heads)
            return dealt.transpose(0, 1)
        return None

    def words(self, row: list[int]) -> list[int]:
        """The words whose elements stand in a row, in order."""
        return list(dict.fromkeys(map(self.source.word, row)))

    def strays(self, row: list[int], position: int) -> bool:
        """Tell whether a row of a position has another word's elements."""
        return self.home is not None and self.words(row) != [position]

    def label(self, row: list[int]) -> str:
        """Name the words in a row."""
        return ", ".join(self.source.words[word] for word in self.words(row))


def verdict(elements: Elements) -> tuple[str, bool]:
    """Say how many elements are at home, and whether all are."""
    home, places = elements.home, elements.places
    if home is None:
        return "", True
    there, every = (places == home).sum(), places.numel()
    count = "all" if there == every else f"{there} of"
    return f"{count} {every} elements in their place", bool(there == every)


def written(row: list[int], source: Source) -> str:
    """Write a row: each word, and the channels that follow it."""
    say, before = [], None
    for place in row:
        word = source.word(place)
        say += [] if word == before else [source.words[word]]
        say.append(str(source.channel(place)))
        before = word
    return " ".join(say)
