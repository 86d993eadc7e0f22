"""The steps of a trace, each with its shapes and its work as formulas."""

from collections import Counter
from pathlib import Path
from typing import Any

from finding import BLOCK, LAYERS, NoFormulaError, product, shape_texts
from torch import nn

from shapewatch.tracing import Row, Trace
from shapewatch.tracing.axes.names import Shapes
from shapewatch.tracing.record.recorder import Step
from shapewatch.tracing.source.expressions import (
    expression,
    line_text,
    variable,
)


def frozen_part(model: nn.Module) -> str:
    """Find the module that never learns, or ""."""
    for path, part in model.named_modules():
        weights = [*part.parameters()]
        if weights and not any(weight.requires_grad for weight in weights):
            return path
    return ""


def steps_of(seen: Trace, frozen: str) -> list[dict[str, Any]]:
    """List the steps of a run with their shapes and FLOPs, without the
    checks of the input; what never learns is one step."""
    found: list[dict[str, Any]] = []
    inside: Counter[str] = Counter()
    for step, row in zip(seen.steps, seen.table.rows):
        path, done = step.visit.path, work(step, row)
        if Path(step.code.co_filename).stem == "checks":
            continue
        if frozen and is_within(path, frozen):
            inside, line = inside + done, calling_line(step, frozen)
            continue
        if inside:  # it gives what the next step reads
            found.append(described_step(frozen, line, row.inputs[:1], inside))
            inside = Counter()
        found.append(described_step(path, row.call, row.outputs, done))
    return found


def described_step(
    path: str, call: str, shapes: Shapes, done: Counter[str]
) -> dict[str, Any]:
    """Write a step: its module, its line, its shapes and its FLOPs."""
    texts = [shape_texts(path, shape) for shape in shapes]
    found = {"path": path, "call": call, "shapes": texts}
    return found | ({"flops": work_text(done)} if done else {})


def is_within(path: str, part: str) -> bool:
    """Whether a module is a part, or in it."""
    return f"{path}.".startswith(f"{part}.")


def calling_line(step: Step, path: str) -> str:
    """Write the line that calls the module around a step."""
    visit = step.visit
    while visit.path != path and visit.parent:
        visit = visit.parent
    spot = visit.place[0]
    return line_text(variable(*spot), expression(*spot))


def work(step: Step, row: Row) -> Counter[str]:
    """Count the FLOPs of a call by the named shapes of what it multiplies:
    two for each multiply-add, which are as many as its result has numbers,
    times the axis that is summed over."""
    reads = [[axis.name for axis in shape] for shape in row.inputs]
    terms = []
    if step.name in ("linear", "matmul", "__matmul__"):
        result = [axis.name for axis in row.outputs[0]]
        terms = [[*result, reads[0][-1]]]
    if step.name == "scaled_dot_product_attention":
        terms = [[*query, reads[-1][-2]] for query in (reads[0], reads[0])]
    count: Counter[str] = Counter()
    for term in terms:
        letters, number = product(["2", *term])
        count[letters] += number
    return count


def work_text(count: Counter[str]) -> str:
    """Write FLOPs as a sum of products."""
    return "+".join(f"{n}{letters}" for letters, n in count.items() if letters)


def steps_once(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """List equal blocks once; of a run of two blocks a stack."""
    blocks: list[list] = [[], []]
    found = []
    for step in steps:
        number = BLOCK.match(step["path"])
        if number:
            step["path"] = BLOCK.sub(r"\1.blocks.*", step["path"])
            blocks[int(number[2])].append(step)
        if not number or number[2] == "0":
            found.append(step | {"times": LAYERS if number else "1"})
    if blocks[0] != blocks[1]:
        raise NoFormulaError("the steps of two blocks differ.")
    return found
