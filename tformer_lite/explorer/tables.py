"""The same numbers as plain tables, for where no script runs."""

import html
from collections.abc import Iterable, Iterator

from tformer_lite.explorer.shown import SQUARE, Shown
from tformer_lite.rounding import decimals

WIDEST, MOST = 16, 36  # columns of a table, and tables in all


def tables(found: Iterable[Shown]) -> str:
    """Write scores and weights of each head, folded by attention."""
    written, left = [], MOST
    for one in found:
        made = list(each(one)) if len(one.columns) <= WIDEST else []
        written.append(folded(one.title, made[: max(left, 0)]))
        left -= len(made)
    return "".join(written)


def folded(title: str, made: list[str]) -> str:
    """Fold the tables of an attention below its title."""
    inside = "".join(made) or "<p>Its tables are too large to write out.</p>"
    head = html.escape(title)
    return f"<details><summary>{head}</summary>{inside}</details>"


def each(one: Shown) -> Iterator[str]:
    """Write a table for each head and step; masked scores only where they
    differ."""
    same = one.parts["masked"].equal(one.parts["scores"])
    for h in range(one.heads):
        for name in SQUARE:
            if not (same and name == "masked"):
                yield table(one, name, h)


def table(one: Shown, name: str, h: int) -> str:
    """Write a step of a head: a row for each query."""
    head = "".join(
        f'<th scope="col">{html.escape(x)}</th>' for x in one.columns
    )
    rows = zip(one.rows, one.parts[name][h].tolist())
    lines = "".join(
        f'<tr><th scope="row">{html.escape(word)}</th>'
        + "".join(f"<td>{number(x)}</td>" for x in row)
        + "</tr>"
        for word, row in rows
    )
    return (
        f"<table><caption>{name}, head {h}</caption>"
        f"<tr><td></td>{head}</tr>{lines}</table>"
    )


def number(x: float) -> str:
    """Write a number with two decimals."""
    return decimals(x).replace("-", "−").replace("inf", "∞")
