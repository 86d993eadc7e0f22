"""Tables that print themselves, in columns or in HTML: a row a torch call,
or names and numbers; and shapes in their colours."""

import html
from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase
from itertools import chain, groupby, repeat
from typing import Any, Generic, NamedTuple, TypeVar

from shapewatch.tracing.axes.names import (
    Axis,
    Shape,
    Shapes,
    shape_text,
    shapes_text,
)
from shapewatch.tracing.markup import (
    STYLE,
    html_groups,
    html_table,
    shape_html,
)
from shapewatch.tracing.source.expressions import line_text

WIDTH = 34
CALL_HEADERS = "call", "inputs", "output"
HEADERS = {"kind": "class", "flops": "FLOPs", "multiply_adds": "multiply-adds"}
RowType = TypeVar("RowType", bound=tuple)


class Row(NamedTuple):
    """One torch call: its module, the variable that is bound, or "", what
    was called, and the named shapes that went in and came out.

    `call`, `reads` and `makes` write it in words. `types` has a word for
    each output: its data type, or its device, where that is none of those
    that went in, else "".
    """

    path: str
    variable: str
    expression: str
    inputs: Shapes
    outputs: Shapes
    types: tuple[str, ...] = ()

    @property
    def call(self) -> str:
        """What was called, and what it is bound to: q = self.query(x)."""
        return line_text(self.variable, self.expression)

    @property
    def reads(self) -> str:
        """The shapes that went in: (B, T, C), (C, C)."""
        return shapes_text(self.inputs)

    @property
    def makes(self) -> str:
        """The shapes that came out; nothing does of a call that failed."""
        return typed_text(self.outputs, self.types) or "failed"

    def __str__(self) -> str:
        """Write a line: what was called, and the shapes."""
        cells = "", ellipsize(self.call), f"{self.reads} -> {self.makes}"
        return text_line(cells, (0, WIDTH, 0))


def ellipsize(call: str) -> str:
    """Leave the middle of what was called out where it is long: of a chain,
    `a.b().c()`, its end tells one call from the next."""
    half = WIDTH // 2
    return call if len(call) <= WIDTH else f"{call[:half]}…{call[1 - half :]}"


def module_label(path: str, kind: str) -> str:
    """Name a module; the whole model by its class."""
    return path or f"({kind or 'outside every module'})"


class Printable:
    """What prints its lines, and its `notes` below them."""

    notes: list[str]

    def _lines(self) -> list[str]:
        """Write all but the notes."""
        raise NotImplementedError

    def __str__(self) -> str:
        notes = [f"note: {note}" for note in self.notes]
        return "\n".join([*self._lines(), *notes])

    __repr__ = __str__


class Table(Printable):
    """The `rows` of calls, which print themselves, with `notes` below."""

    def __init__(self, rows: list[Row], notes: list[str]):
        self.rows, self.notes = rows, notes

    def at(self, pattern: str) -> "Table":
        """Keep the rows of a module and of all within it.

        `pattern` is a path; * stands for anything. Raises KeyError when
        there is none.
        """
        glob = f"{pattern}.*"
        rows = [row for row in self.rows if fnmatchcase(f"{row.path}.", glob)]
        if not rows:
            paths = dict.fromkeys(row.path for row in self.rows)
            raise KeyError(
                f"no call in {pattern!r}: the paths are {', '.join(paths)}"
            )
        return Table(rows, self.notes)

    def _lines(self) -> list[str]:
        """Write a heading for each module, and a line for each call."""
        groups = groupby(self.rows, key=lambda row: row.path)
        return [x for path, rows in groups for x in (path, *map(str, rows))]

    def _repr_html_(self) -> str:
        """Write a real table: readable without style and without script."""
        groups = groupby(self.rows, key=lambda row: row.path)
        cells = ((path, map(row_cells, rows)) for path, rows in groups)
        return STYLE + html_groups(CALL_HEADERS, cells, self.notes)


def row_cells(row: Row) -> tuple[None, str, str, str]:
    """Write a call as cells; none of them names the row."""
    reads = typed_text(row.inputs, (), shape_html)
    makes = typed_text(row.outputs, row.types, shape_html) or row.makes
    call = f"<code>{html.escape(row.call)}</code>"
    return None, call, reads, makes


class Sheet(Printable, Generic[RowType]):
    """Rows of names and numbers, looked up by their first cell: `rows`, and
    the `headers` above their columns.

    A module's row has all that is within it; the whole model, "", comes
    last and is printed as the total.
    """

    def __init__(self, rows: Sequence[RowType], notes: list[str]):
        self.rows, self.notes = rows, notes

    def __getitem__(self, path: str) -> RowType:
        """Find the row of a module, or of a parameter."""
        for row in self.rows:
            if row[0] == path:
                return row
        raise KeyError(f"no {path!r}: print the sheet to see what there is")

    @property
    def headers(self) -> list[str]:
        """What stands above each column."""
        names = getattr(self.rows[0], "_fields", ()) if self.rows else ()
        return [HEADERS.get(name, name) for name in names]

    def _lines(self) -> list[str]:
        """Write a line for each row; numbers end in one column."""
        if not self.rows:
            return []
        rows = [
            self.headers,
            *(list(map(cell_text, row)) for row in self.rows),
        ]
        widths = [max(map(len, column)) for column in zip(*rows)]
        right = {i for i, x in enumerate(self.rows[0]) if isinstance(x, int)}
        return [text_line(row, widths, right) for row in rows]

    def _repr_html_(self) -> str:
        """Write a real table: readable without style and without script."""
        rows = [[html.escape(cell_text(x)) for x in row] for row in self.rows]
        return html_table(self.headers, rows, self.notes)


def cell_text(value: Any) -> str:
    """Write one value: 1,024, or (B, T, C); the whole has no path, and is
    the total."""
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, tuple) and all(isinstance(x, Axis) for x in value):
        return shape_text(value)
    return "total" if value == "" else str(value)


def text_line(
    cells: Sequence[str], widths: Sequence[int], right: Collection[int] = ()
) -> str:
    """Write cells in columns of some widths, two spaces between them; what
    stands in the columns `right` ends there, and does not begin there."""
    columns = enumerate(zip(cells, widths))
    return "  ".join(
        cell.rjust(width) if i in right else cell.ljust(width)
        for i, (cell, width) in columns
    ).rstrip()


def typed_text(
    shapes: Shapes,
    types: Sequence[str],
    write: Callable[[Shape], str] = shape_text,
) -> str:
    """Write several named shapes, each with its data type, if it is said."""
    pairs = zip(shapes, chain(types, repeat("")))
    return ", ".join(f"{write(shape)} {kind}".strip() for shape, kind in pairs)
