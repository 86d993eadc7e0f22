"""The call that failed in a run: what it was given, and who made that."""

import ast

from shapewatch.tracing.axes.names import shape_text, sizes_text
from shapewatch.tracing.calls import Calls
from shapewatch.tracing.record.recorder import (
    Step,
    branch_condition,
    sources_of,
)
from shapewatch.tracing.source.expressions import passage


def explanation(calls: Calls) -> str:
    """Write what the last call, which failed, was given, and who made it."""
    step, rows = calls.steps[-1], calls.table.rows
    shapes, where = rows[-1].inputs, step.visit.path or step.visit.kind
    names = operands(step) or ["input"] * len(shapes)
    place = f"in {where}" if where else "outside every module"
    lines = [f"{place}: {rows[-1].call}"]
    for name, shape, i in zip(names, shapes, sources_of(calls.steps)[-1]):
        origin = "" if i is None else f", made by {rows[i].call}"
        lines.append(f"  {name}: {shape_text(shape)}{origin}")
    if sizes := sizes_text(lines[1:], calls.run.sizes):
        lines.append(f"  where {sizes}")
    return "\n".join(lines)


def operands(step: Step) -> list[str]:
    """Write the operands of a call as its line does, if there is one for
    each tensor that it reads; else [], where some are starred, and for what
    a library's layer does: it reads its parameters as well."""
    if step.visit.place == step.place:
        return []
    if asked := branch_condition(step):
        return [asked]
    match passage(*step.place[0]):
        case ast.BinOp(left, _, right):
            nodes = [left, right]
        case ast.Call(function, arguments, options):
            nodes = [*arguments, *(word.value for word in options)]
            if isinstance(function, ast.Attribute):
                nodes = [function.value, *nodes]
        case _:
            return []
    texts = [
        ast.unparse(x)
        for x in nodes
        if any(isinstance(y, ast.Name) for y in ast.walk(x))  # -1 has none
    ]
    starred = any(isinstance(x, ast.Starred) for x in nodes)
    return [] if starred or len(texts) != len(step.reads) else texts
