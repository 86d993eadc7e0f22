"""Failing calls: the operands' named shapes, and the lines that made them."""

import ast

from tformer_lite.tracing.record.recorder import Step
from tformer_lite.tracing.source.expressions import expression, passage


def explain(step: Step, steps: list[Step], axes: list[str]) -> str:
    """Write what a call that failed was given, and where that came from.

    `axes` are the named shapes of what it reads, as text.
    """
    where = step.visit.path or step.visit.kind or "outside every module"
    call = expression(step.code, step.at) or step.name
    names = operands(step) or [""] * len(axes)
    lines = [f"in {where}: {call}"]
    for name, shape, mark in zip(names, axes, step.reads):
        made = origin(mark.number, steps)
        lines.append(f"  {name or 'input'}: {shape}{made}")
    return "\n".join(lines)


def operands(step: Step) -> list[str]:
    """Write the operands of a call as its line does, if there is one for
    each tensor that it reads; else [], and for what a library's layer does:
    it reads its parameters as well."""
    chain, call = ((step.code, step.at), *step.callers), step.visit.call
    if call and call.place == chain:
        return []
    node = passage(step.code, step.at)
    found: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        found = [node.left, node.right]
    elif isinstance(node, ast.Call):
        found = [*node.args, *(word.value for word in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            found = [node.func.value, *found]
    found = [x for x in found if not isinstance(x, ast.Constant)]
    texts = [ast.unparse(node) for node in found]
    return texts if len(texts) == len(step.reads) else []


def origin(number: int, steps: list[Step]) -> str:
    """Say which line made a tensor, if a recorded one did."""
    for step in reversed(steps):
        if any(mark.number == number for mark in step.makes):
            return f", made by {step.line}"
    return ""
