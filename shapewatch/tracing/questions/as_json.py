"""Traces as JSON.

The JSON is one object. Version 1:

- `version`: 1. Another number means that a reader of this version cannot
  rely on what follows; fields may be added without a new number.
- `dims`: the size of each named dimension in the traced run.
- `steps`: the torch calls, in order, each an object:
  - `module`: the path of the module that made the call, "" for the whole
    model, "(Linear)" for a module that is no part of it; `nth`: how many runs
    of it went before; `kind`: its class, "" for a call outside every module.
  - `call`: the expression as it is written, or, where nobody wrote it, or it
    makes several calls, the function's name; `variable`: what the expression
    is bound to, or ""; `function`: the torch function's name.
  - `inputs` and `outputs`: tensors. A call without outputs failed.
- A tensor has a `number`: the same number is the same tensor, counted from
  0 in the order of first appearance. `shape` has its sizes, and `axes` a
  `name` for each, with how it is `known`: "proved" (it held at other sizes
  too), "value" (one dimension has this size) or "unknown" (the name is the
  size itself). `dtype` and `device` are its own: "float32", "cpu".
- `notes`: what could not be found out, in sentences.

The same run gives the same text, byte for byte. A note may quote a model's
own error message.
"""

import json

from shapewatch.tracing.axes.names import Shape
from shapewatch.tracing.calls import Calls, kinds_of
from shapewatch.tracing.record.recorder import Step
from shapewatch.tracing.record.tensors import Mark
from shapewatch.tracing.tables import Row


def to_json(calls: Calls) -> str:
    """Write a trace as JSON; this module's docstring has the schema."""
    numbers: dict[int, int] = {}
    steps = zip(calls.steps, calls.table.rows)
    data = {
        "version": 1,
        "dims": calls.run.sizes,
        "steps": [step_data(step, row, numbers) for step, row in steps],
        "notes": calls.notes,
    }
    return json.dumps(data, ensure_ascii=False)


def step_data(
    step: Step, row: Row, numbers: dict[int, int]
) -> dict[str, object]:
    """Describe a call; `numbers` are those of the tensors so far."""
    visit = step.visit
    reads, makes = zip(step.reads, row.inputs), zip(step.makes, row.outputs)
    return {
        "module": visit.path,
        "nth": visit.nth,
        "kind": visit.kind,
        "call": row.expression,
        "variable": row.variable,
        "function": step.name,
        "inputs": [tensor_data(*tensor, numbers) for tensor in reads],
        "outputs": [tensor_data(*tensor, numbers) for tensor in makes],
    }


def tensor_data(
    mark: Mark, shape: Shape, numbers: dict[int, int]
) -> dict[str, object]:
    """Describe a tensor, with a number of its own."""
    [(dtype, device)] = kinds_of([mark])
    return {
        "number": numbers.setdefault(mark.number, len(numbers)),
        "shape": list(mark.shape),
        "axes": [{"name": axis.name, "known": axis.proof} for axis in shape],
        "dtype": dtype,
        "device": device,
    }
