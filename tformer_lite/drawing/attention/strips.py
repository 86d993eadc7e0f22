"""Strips: a chain of matrices in one row, with its operators between."""

import sys
from collections.abc import Sequence
from typing import Any

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.attention.chains import Chain, Links, description
from tformer_lite.drawing.attention.links import made_of, parts_of
from tformer_lite.drawing.attention.strip_page import draw_chains
from tformer_lite.drawing.surface.matrix import Matrix
from tformer_lite.drawing.surface.page import NARROW, WIDE
from tformer_lite.drawing.surface.palette import DARK, KINDS
from tformer_lite.drawing.surface.panels import Panel
from tformer_lite.drawing.surface.picture import Picture

Labels = Sequence[str] | Sequence[Sequence[str]] | None


def strip(
    *links: Any,
    at: Sequence[int] = (0, 0),
    axes: str | Sequence[str] = "T S",
    rows: Labels = None,
    columns: Labels = None,
    row: int | str | None = None,
    titles: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
) -> Picture:
    """Draw matrices in one row, with operators between: (T, S) -> a picture.

    Matrices and operators alternate as in the equation, `strip(q, "@", k.mT,
    "=", raw, "÷ √D", scores)`; a mask, of booleans, is drawn small. Lines of
    an operator after its first stand below its arrow. What
    `Trace.attention()` finds is a whole chain, and so is a list: several
    stand one below the other. Axes before the last two are indexed by `at`:
    example and head.

    `axes` names the axes of all matrices, or of each. `rows` are the words
    of T, and `columns` those of S (left out, they are the same): one list,
    or one for each chain. The `row` of a number or word is framed. `titles`
    replaces what you wrote for each matrix; `names` are those of chains.
    Scores share one scale, and so do matrices with channels. Raises
    ValueError for what is no matrix, and for names that do not fit.

    >>> strip(torch.zeros(2, 3), "softmax", softmax(torch.zeros(2, 3)))
    torch.zeros(2, 3) (T, S) = (2, 3), softmax, softmax(torch.zeros(2, ...
    """
    parts = parts_of(links, argument_texts(sys._getframe(1)))
    shown = [link for part in parts for link in part if link.is_matrix]
    each = [axes] * len(shown) if isinstance(axes, str) else axes
    written = titles or [link.title for link in shown]
    for link, *given in zip(shown, fit("axes", each, shown), written):
        link.axes, link.title = given
    fit("titles", written, shown)
    called = fit("names", names or names_of(links, parts), parts)
    chains = []
    for i, (part, name) in enumerate(zip(parts, called)):
        words = words_of(rows, i), words_of(columns or rows, i)
        made = list(made_of(part, at, dict(zip("TS", words))))
        chains.append(Chain(name, made, row_of(row, made)))
    if row is not None and all(chain.row is None for chain in chains):
        raise ValueError(f"{row=} is in no chain.")
    return picture(chains)


def picture(chains: list[Chain]) -> Picture:
    """Draw chains, for a wide page and for a phone."""
    (figure, wide), (small, narrow) = (
        draw_chains(chains, width) for width in (WIDE, NARROW)
    )
    dark = dict(DARK)
    for kind in KINDS.values():
        dark |= kind.counterparts()
    numbered = [(m, i) for i, c in enumerate(chains) for m in c.matrices]
    panels = [
        Panel(matrix, box, small_box, i)
        for (matrix, i), box, small_box in zip(numbered, wide, narrow)
    ]
    return Picture(figure, description(chains), dark, small, panels)


def names_of(links: Sequence[Any], parts: list[Any]) -> list[str]:
    """Name chains by the module that they are in."""
    given = links if len(parts) > 1 else [""]
    return [getattr(each, "path", "") for each in given]


def words_of(labels: Any, i: int) -> Any:
    """Find the words of a chain."""
    return labels if not labels or isinstance(labels[0], str) else labels[i]


def fit(what: str, given: Sequence[Any], wanted: Sequence[Any]) -> Any:
    """Raise ValueError unless there is one for each."""
    if len(given) != len(wanted):
        raise ValueError(f"{len(given)} {what} for {len(wanted)} to name.")
    return given


def row_of(row: int | str | None, made: Links) -> int | None:
    """Find the row to be framed in a chain, if it has one."""
    first = next(each for each in made if isinstance(each, Matrix))
    words = first.labels[0]
    if isinstance(row, str):
        return words.index(row) if row in words else None
    return row if row is not None and 0 <= row < len(words) else None
