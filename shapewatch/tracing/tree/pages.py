"""The tree as HTML: lists in lists, which open and close."""

import html
from collections import defaultdict
from collections.abc import Iterable, Iterator

from shapewatch.tracing.markup import STYLE, html_groups, shape_html
from shapewatch.tracing.record.visits import Visit
from shapewatch.tracing.tables import CALL_HEADERS, Row, row_cells
from shapewatch.tracing.tree.lines import TreeLine, arrow
from shapewatch.tracing.tree.nodes import Node

FEW_SHAPES, MOST_CALLS = 4, 300  # shapes in a line; calls in a page
CallRows = dict[Visit, list[Row]]


def page_of(
    root: Node,
    label: str,
    depth: int,
    about: str,
    below: Iterable[str],
) -> str:
    """Write a tree, open down to a depth, and sentences around it.

    The calls of each module stand in it, unless there are too many: of
    equal modules, and of several runs, those of the first.
    """
    calls = rows_by_visit(root)
    shown = [root, *nodes_in(root)]
    if sum(len(calls[node.runs[0]]) for node in shown) > MOST_CALLS:
        calls.clear()
    whole = f"<b>{html.escape(label)}</b> {shapes_arrow_html(root)}"
    head = f"<br>{html.escape(about)}"
    tail = "".join(f"<p>{html.escape(text)}</p>" for text in below)
    inside = content_html(root, 0, depth, calls)
    page = f"<p>{whole}{head}</p>{inside}{tail}"
    return f'{STYLE}<div class="trace-tree">{page}</div>'


def rows_by_visit(root: Node) -> CallRows:
    """List the calls that each run of a module makes itself."""
    found: CallRows = defaultdict(list)
    calls = root.facts.calls
    for step, row in zip(calls.steps, calls.table.rows):
        found[step.visit].append(row)
    return found


def nodes_in(node: Node) -> Iterator[Node]:
    """List what is in a module; of equal ones the first."""
    for group in node.groups:
        yield group[0]
        yield from nodes_in(group[0])


def content_html(node: Node, level: int, depth: int, calls: CallRows) -> str:
    """Write what is in a module: its own calls, and its parts."""
    lines = [TreeLine(level, group, False) for group in node.groups]
    rows = calls.get(node.runs[0], [])
    table = html_groups(CALL_HEADERS, [("", map(row_cells, rows))])
    if not lines:
        return table if rows else ""
    items = [item_html(line, depth, calls) for line in lines]
    if rows:
        own = f"own calls of {node.name}" if node.name else "own calls"
        items.insert(
            0, details_html(f"{html.escape(own)}: {len(rows)}", table)
        )
    return f"<ul>{''.join(f'<li>{text}</li>' for text in items)}</ul>"


def item_html(line: TreeLine, depth: int, calls: CallRows) -> str:
    """Write a module, and in it what it is made of."""
    name, kind, count = map(html.escape, line.cells())
    text = f"<code>{name.strip()}</code> {kind} {shapes_arrow_html(line.node)}"
    text += f" <i>{count_text(count)}</i>" if count else ""
    inside = content_html(line.node, line.level + 1, depth, calls)
    if not inside:
        return text
    is_open = bool(line.node.parts) and line.level + 1 < depth
    return details_html(text, inside, is_open)


def details_html(text: str, inside: str, is_open: bool = False) -> str:
    """Write what opens and closes, under a text."""
    state = " open" * is_open
    return f"<details{state}><summary>{text}</summary>{inside}</details>"


def count_text(count: str) -> str:
    """Say what is counted: 7,087,872 parameters each."""
    number, *words = count.split(" ")
    return " ".join([number, "parameters", *words])


def shapes_arrow_html(node: Node) -> str:
    """Write what a module reads and makes, for the style sheet."""
    text = arrow(node, FEW_SHAPES, FEW_SHAPES, shape_html)
    return text.replace(" -> ", " → ")
