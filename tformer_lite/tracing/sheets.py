"""Sheets: rows of names and numbers, as text and as HTML."""

import html
from typing import NamedTuple

from tformer_lite.tracing.tables import html_table

HEADERS = {"kind": "class", "flops": "FLOPs", "multiply_adds": "multiply-adds"}


class Sheet:
    """Rows that print themselves, looked up by their first cell.

    A module's row has all that is within it; the whole model, "", comes
    last and is printed as the total.
    """

    def __init__(self, rows: list[NamedTuple], notes: list[str]):
        self.rows, self.notes = rows, notes

    def __getitem__(self, path: str):
        """Find the row of a module, or of a parameter."""
        for row in self.rows:
            if row[0] == path:
                return row
        raise KeyError(f"no {path!r}: print the sheet to see what there is")

    @property
    def headers(self) -> list[str]:
        """What stands above each column."""
        names = self.rows[0]._fields if self.rows else ()
        return [HEADERS.get(name, name) for name in names]

    def __str__(self) -> str:
        """Write a line for each row; numbers end in one column."""
        lines = [self.headers, *(map(cell, row) for row in self.rows)]
        columns = list(zip(*lines))
        numbers = [isinstance(x, int) for x in self.rows[0]] if columns else []
        for i, (column, right) in enumerate(zip(columns, numbers)):
            width = max(map(len, column))
            adjust = str.rjust if right else str.ljust
            columns[i] = [adjust(text, width) for text in column]
        text = ["  ".join(line).rstrip() for line in zip(*columns)]
        return "\n".join([*text, *(f"note: {note}" for note in self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Write a real table: readable without style and without script."""
        rows = [[html.escape(cell(x)) for x in row] for row in self.rows]
        return html_table(self.headers, rows, self.notes)


def cell(value) -> str:
    """Write one value: 1,024; the whole has no path, and is the total."""
    if isinstance(value, int):
        return f"{value:,}"
    return "total" if value == "" else str(value)
