"""A graph of a run's modules, as text that Mermaid draws."""

from collections.abc import Iterator

from shapewatch.tracing.tree.flow import Box, ModuleFlow
from shapewatch.tracing.tree.nodes import Node, node_name

# What has a meaning in a label, and how to write it.
SIGNS = str.maketrans(
    {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;"}
)
MOST_AT_ARROW = 3  # shapes at an arrow


def mermaid_of(root: Node, depth: int) -> str:
    """Write the modules of a tree, down to a depth, and what goes where."""
    flow = ModuleFlow(root, depth)
    used = {name for pair in flow.arrows for name in pair}
    lines = ["flowchart TD"]
    for i, name in enumerate(flow.inputs):
        lines += [f"  in{i}([{mermaid_label(name)}])"] * (f"in{i}" in used)
    lines += [f"  {line}" for line in box_lines(flow.root)]
    lines += ["  out([output])"] * ("out" in used)
    for (start, end), shapes in flow.arrows.items():
        texts = [*shapes][:MOST_AT_ARROW] + ["…"] * (
            len(shapes) > MOST_AT_ARROW
        )
        lines.append(f"  {start} -->|{mermaid_label(', '.join(texts))}| {end}")
    return "\n".join(lines)


def box_lines(box: Box) -> Iterator[str]:
    """Draw a box; or a frame, and all that is in it."""
    node = box.group[0]
    kind = node.kind or "function"
    name = node_name(box.group) if node.name else ""
    failed = any(run.makes is None for run in node.runs) and node.kind
    text = mermaid_label(
        *filter(None, [name, kind, "failed" if failed else ""])
    )
    if not box.parts:
        yield f"{box.name}[{text}]"
        return
    yield f"subgraph {box.name} [{text}]"
    for part in box.parts:
        yield from (f"  {line}" for line in box_lines(part))
    for join in {join.name: join for join in box.joins.values()}.values():
        words = dict.fromkeys(join.calls.values())
        yield f"  {join.name}(({mermaid_label(', '.join(words))}))"
    yield "end"


def mermaid_label(*lines: str) -> str:
    """Write a label, in quotes: one line below the other."""
    texts = (line.translate(SIGNS) for line in lines)
    return '"' + "<br>".join(texts) + '"'
