"""Failing calls: the operands' named shapes, and the lines that made them."""

import ast

from shapewatch.tracing.axes.names import shape_text
from shapewatch.tracing.calls import Calls
from shapewatch.tracing.record.recorder import Step, sources_of
from shapewatch.tracing.source.expressions import passage


def explanation(calls: Calls) -> str:
    """Write what the last call, which failed, was given, and who made it."""
    step, (shapes, _) = calls.steps[-1], calls.axes[-1]
    where = step.visit.path or step.visit.kind or "outside every module"
    names = operands(step) or ["input"] * len(shapes)
    lines = [f"in {where}: {step.binding[1]}"]
    for name, shape, i in zip(names, shapes, sources_of(calls.steps)[-1]):
        origin = "" if i is None else f", made by {calls.steps[i].line}"
        lines.append(f"  {name}: {shape_text(shape)}{origin}")
    return "\n".join(lines)


def operands(step: Step) -> list[str]:
    """Write the operands of a call as its line does, if there is one for
    each tensor that it reads; else [], and for what a library's layer does:
    it reads its parameters as well."""
    if step.visit.place == step.place:
        return []
    if step.asked:
        return [step.asked]
    match passage(*step.place[0]):
        case ast.BinOp(left, _, right):
            found = [left, right]
        case ast.Call(function, arguments, options):
            found = [*arguments, *(word.value for word in options)]
            if isinstance(function, ast.Attribute):
                found = [function.value, *found]
        case _:
            return []
    texts = [ast.unparse(x) for x in found if variable_names(x)]
    return texts if len(texts) == len(step.reads) else []


def variable_names(tree: ast.AST) -> list[str]:
    """List the variables in an expression: -1 has none."""
    return [x.id for x in ast.walk(tree) if isinstance(x, ast.Name)]
