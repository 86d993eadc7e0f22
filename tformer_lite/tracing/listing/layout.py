"""The layout of annotated source, as text and as HTML."""

import html

from tformer_lite.tracing.axes.names import shape_text
from tformer_lite.tracing.tables import coloured, framed

WIDTH, MANY = 76, 4
HEADERS = "line", "code", "shapes"


def as_text(title: str, lines: list[tuple]) -> str:
    """Write the notes beside the code where there is room, else below."""
    noted = [(code, items(notes)) for code, notes in lines]
    column = best_column(noted)
    found = [title, ""]
    for code, texts in noted:
        joined = f"# {' · '.join(texts)}"
        if not texts:
            found.append(code)
        elif max(column, len(code) + 2) + len(joined) <= WIDTH:
            found.append(
                code.ljust(max(column - 2, len(code))) + "  " + joined
            )
        else:
            found += [code, *below(texts, column)]
    return "\n".join(found)


def best_column(noted: list[tuple[str, list[str]]]) -> int:
    """Choose the column at which the most notes stand beside their code."""

    def beside(column: int) -> int:
        return sum(
            len(code) + 2 <= column
            and column + len(" · ".join(texts)) + 2 <= WIDTH
            for code, texts in noted
            if texts
        )

    best = max(range(WIDTH), key=beside)
    return best if beside(best) else WIDTH


def below(texts: list[str], column: int) -> list[str]:
    """Write notes on lines of their own, under the column if they fit."""
    lines, line = [], "#"
    for i, text in enumerate(texts):
        more = f"{line} {text}" if line == "#" else f"{line} · {text}"
        if len(more) > WIDTH and i:
            lines.append(line)
            more = f"# {text}"
        line = more
    lines.append(line)
    indent = max(0, min(column, WIDTH - max(map(len, lines))))
    return [" " * indent + line for line in lines]


def items(notes: list) -> list[str]:
    """Write each note: its label and its shapes."""
    return [
        (f"{note.label}: " if note.label else "") + shapes_text(note.shapes)
        for note in notes
    ]


def shapes_text(values: list | None) -> str:
    """Write the shapes that an expression had each time, and how often; "?"
    where they are not certain."""
    if values is None:
        return "?"
    texts = [", ".join(few(list(map(shape_text, v)))) for v in values]
    many = f" × {len(texts)}" if len(texts) > 1 else ""
    if len(set(texts)) == 1:
        return texts[0] + many
    return f"{texts[0]} … {texts[-1]}{many}"


def few(texts: list[str]) -> list[str]:
    """Leave out the middle of a long list."""
    return texts if len(texts) <= MANY else [texts[0], "…", texts[-1]]


def as_html(title: str, lines: list[tuple]) -> str:
    """Write a real table: readable without style and without script."""
    text = html.escape(title).replace("\n", "<br>")
    rows = "".join(html_row(i, *line) for i, line in enumerate(lines, 1))
    caption = f"<caption>{text}</caption>"
    return framed(HEADERS, f"<tbody>{rows}</tbody>", [], caption)


def html_row(number: int, code: str, notes: list) -> str:
    """Write one line of code, and its shapes."""
    cells = [
        (f"<code>{html.escape(note.label)}</code>: " if note.label else "")
        + coloured(shapes_text(note.shapes))
        for note in notes
    ]
    return (
        f'<tr><th scope="row">{number}</th>'
        f"<td><pre>{html.escape(code)}</pre></td>"
        f"<td>{'<br>'.join(cells)}</td></tr>"
    )
