"""Writing: lines of columns, tables in HTML, and shapes in their colours."""

import html
from collections.abc import Collection, Iterable, Sequence

from tformer_lite.tracing.axes.names import LETTERS, Shape, Shapes

Cells = Sequence[str | None]


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


def html_table(
    headers: Sequence[str], rows: Iterable[Cells], notes: Iterable[str] = ()
) -> str:
    """Write a table of cells that are HTML; the first names its row."""
    return html_groups(headers, [("", rows)], notes)


def html_groups(
    headers: Sequence[str],
    groups: Iterable[tuple[str, Iterable[Cells]]],
    notes: Iterable[str] = (),
    caption: str = "",
) -> str:
    """Write a table of rows in groups, each under its title, or "", and the
    notes below. It can be read without style and without script.

    Cells and headers are HTML, titles, notes and the caption are text. The
    first cell names its row, unless it is None.
    """
    head = "".join(f'<th scope="col">{name}</th>' for name in headers)
    bodies = "".join(html_group(*group, len(headers)) for group in groups)
    above = html.escape(caption).replace("\n", "<br>")
    above = f"<caption>{above}</caption>" if caption else ""
    below = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return (
        f'<table class="trace">{above}<thead><tr>{head}</tr></thead>'
        f"{bodies}</table>{below}"
    )


def html_group(title: str, rows: Iterable[Cells], columns: int) -> str:
    """Write rows under a title that is as wide as the table."""
    lines = "".join(html_row(*row) for row in rows)
    if title:
        attributes = f'scope="rowgroup" colspan="{columns}"'
        title = f"<tr><th {attributes}>{html.escape(title)}</th></tr>"
    return f"<tbody>{title}{lines}</tbody>"


def html_row(name: str | None, *cells: str | None) -> str:
    """Write the name of a row, if it has one, and its cells."""
    head = "" if name is None else f'<th scope="row">{name}</th>'
    return f"<tr>{head}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def shapes_html(shapes: Shapes) -> str:
    """Write several named shapes for the style sheet."""
    return ", ".join(map(shape_html, shapes))


def shape_html(shape: Shape) -> str:
    """Mark a named shape, and each name in it, for the style sheet."""
    mark = r'<span class="axis axis-\g<0>">\g<0></span>'
    axes = (LETTERS.sub(mark, html.escape(str(axis))) for axis in shape)
    return f'<span class="shape">({", ".join(axes)})</span>'
