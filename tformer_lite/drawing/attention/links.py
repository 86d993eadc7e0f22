"""What a strip is given: matrices, masks, operators and attentions."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from shapewatch.tracing.questions.attention import Attention
from tformer_lite.drawing.attention.chains import Operator
from tformer_lite.drawing.surface.matrix import Matrix, check_known
from tformer_lite.drawing.surface.palette import AXES

FAR = 1e4  # what a mask takes away from a score, at least
MASK, SOFTMAX = "+ mask\n0 or −∞", "softmax\nrows sum to 1"


@dataclass
class Link:
    """A matrix, a mask or an operator, as it was given and written."""

    thing: Any
    title: str
    axes: str = "T S"
    kind: str | None = None

    @property
    def is_mask(self) -> bool:
        """Whether it is one of booleans."""
        return getattr(self.thing, "dtype", None) is torch.bool

    @property
    def is_matrix(self) -> bool:
        """Whether it has a panel of its own."""
        return not (self.is_mask or isinstance(self.thing, str))


def parts_of(links: Sequence[Any], texts: list[str]) -> list[list[Link]]:
    """Divide what was given into chains. Raises ValueError for a chain
    without a matrix."""
    texts = texts or ["matrix"] * len(links)
    several = [isinstance(each, list | tuple) for each in links]
    if any(several) and not all(several):
        raise ValueError(
            "a strip is one chain, or several: attentions and lists alone."
        )
    if not any(several):
        parts = [list(map(Link, links, map(plain, texts)))]
    else:
        parts = list(map(chain_of, links, texts))
    if not all(any(link.is_matrix for link in part) for part in parts):
        raise ValueError("a strip needs a matrix, and so does each chain.")
    return parts


def chain_of(given: Any, text: str) -> list[Link]:
    """Make a chain of an attention, or of a list as it was written."""
    if isinstance(given, Attention):
        return list(links_of(given))
    node = ast.parse(text, mode="eval").body
    elements = getattr(node, "elts", [])
    texts = list(map(ast.unparse, elements)) or ["matrix"] * len(given)
    return list(map(Link, given, map(plain, texts)))


def links_of(found: Attention) -> Iterator[Link]:
    """Make a chain of an attention; a mask is what hides scores."""
    scores, masked, weights = found.scores, found.masked, found.weights
    yield Link(scores, "scores", kind="scores")
    hidden = masked.isneginf() | (masked < scores - FAR)
    if hidden.any():
        yield Link(~hidden, "mask")
    elif not torch.equal(scores, masked):
        yield Link("+ bias", "")
    if not torch.equal(scores, masked):
        yield Link(masked, "masked", kind="scores")
    yield Link(SOFTMAX, "")
    yield Link(weights, "weights", kind="weights")


def plain(text: str) -> str:
    """Write an expression as the title of one matrix: without its index, and
    with a T where it is transposed."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    if isinstance(node, ast.Subscript):
        return plain(ast.unparse(node.value))
    if isinstance(node, ast.Attribute) and node.attr in ("mT", "T"):
        return f"{plain(ast.unparse(node.value))}ᵀ"
    if isinstance(node, ast.Attribute):
        return node.attr
    return ast.unparse(node)


def made_of(
    part: list[Link], at: Sequence[int], words: dict[str, Any]
) -> Iterator[Matrix | Operator]:
    """Look up matrices and masks at a place. What a mask hides stays so."""
    mask = None
    for link in part:
        if not link.is_matrix:
            text = MASK if link.is_mask else link.thing
            name, *notes = text.split("\n")
            if link.is_mask:
                mask = matrix_at(link.thing, "mask", at)
            yield Operator(name, notes, mask if link.is_mask else None)
            continue
        made = matrix_of(link, at, words, mask)
        if made.hidden.any():
            mask = ~made.hidden
        yield made


def matrix_of(
    link: Link, at: Sequence[int], words: dict[str, Any], mask: Tensor | None
) -> Matrix:
    """Make a matrix with its words; a mask is one of T and S."""
    letters = tuple(link.axes.split())
    for letter in letters:
        check_known("axis", letter, AXES)
    if len(letters) != 2:
        raise ValueError(f"axes {link.axes!r} must be two letters.")
    inside = letters == ("T", "S")
    return Matrix(
        link.title,
        matrix_at(link.thing, link.title, at),
        letters,
        [words.get(letter) for letter in letters],
        mask if inside else None,
        link.kind or (None if inside else "scores"),
    )


def matrix_at(values: Any, title: str, at: Sequence[int]) -> Tensor:
    """Look up the matrix of an example and head. Raises ValueError where
    there is none."""
    values = torch.as_tensor(values)
    lead = values.shape[:-2]
    if len(at) < len(lead) or any(
        not -n <= i < n for i, n in zip(at, lead) if n > 1
    ):
        raise ValueError(
            f"{title} has shape {tuple(values.shape)}: at={tuple(at)} must "
            f"choose one of {tuple(lead)}."
        )
    return values[tuple(i if n > 1 else 0 for i, n in zip(at, lead))]
