"""Export: a trace as JSON, and its table from the JSON alone.

The text is one object. Version 1:

- `version`: 1. Another number means that a reader of this version cannot
  rely on what follows; fields may be added without a new number.
- `dims`: the size of each named dimension in the traced run.
- `steps`: the torch calls, in order, each an object:
  - `module`: the path of the module that made the call, "" for the whole
    model; `nth`: how many runs of it went before; `kind`: its class, "" for
    a call outside every module.
  - `call`: the expression as it is written, or, where nobody wrote it, the
    function's name; `variable`: what the result is bound to, or "";
    `function`: the torch function's name.
  - `inputs` and `outputs`: tensors. A call without outputs failed.
- A tensor has a `number`: the same number is the same tensor, counted from
  0 in the order of first appearance. `shape` has its sizes, and `axes` a
  name for each, with how it is `known`: "proved" (it held at other sizes
  too), "value" (one dimension has this size) or "unknown" (the name is the
  size itself). `dtype` and `device` are its own: "float32", "cpu".
- `notes`: what could not be found out, in sentences.

The same run gives the same text, byte for byte. A note may quote a model's
own error message.
"""

import json
from typing import Any

from shapewatch.tracing.axes.names import Axis, Shape
from shapewatch.tracing.calls import Calls
from shapewatch.tracing.dtypes import DtypeDevice, kinds_of, new_kinds
from shapewatch.tracing.record.recorder import Step
from shapewatch.tracing.record.tensors import Mark
from shapewatch.tracing.tables import Row, Table, module_label

JSON_VERSION = 1
Data = dict[str, Any]


def to_json(calls: Calls) -> str:
    """Write a trace as JSON; this module's docstring has the schema."""
    numbers: dict[int, int] = {}
    steps = zip(calls.steps, calls.table.rows)
    data = {
        "version": JSON_VERSION,
        "dims": calls.run.sizes,
        "steps": [step_data(step, row, numbers) for step, row in steps],
        "notes": calls.notes,
    }
    return json.dumps(data, ensure_ascii=False)


def step_data(step: Step, row: Row, numbers: dict[int, int]) -> Data:
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
        "inputs": [tensor_data(*one, numbers) for one in reads],
        "outputs": [tensor_data(*one, numbers) for one in makes],
    }


def tensor_data(mark: Mark, shape: Shape, numbers: dict[int, int]) -> Data:
    """Describe a tensor, with a number of its own."""
    [(dtype, device)] = kinds_of([mark])
    return {
        "number": numbers.setdefault(mark.number, len(numbers)),
        "shape": list(mark.shape),
        "axes": [{"name": axis.name, "known": axis.proof} for axis in shape],
        "dtype": dtype,
        "device": device,
    }


def from_json(text: str) -> Table:
    """Read the table of a trace from its JSON.

    Raises ValueError for a text of another version, or of something else.
    """
    data = json.loads(text)
    version = data.get("version") if isinstance(data, dict) else None
    if version != JSON_VERSION:
        raise ValueError(
            f"this is no trace of version {JSON_VERSION}: its version is "
            f"{version!r}. Write it again with trace(...).to_json()."
        )
    steps = data["steps"]
    kinds = new_kinds(
        [(kinds_in(s, "inputs"), kinds_in(s, "outputs")) for s in steps]
    )
    return Table(list(map(row_from, steps, kinds)), data["notes"])


def row_from(step: Data, types: tuple[str, ...]) -> Row:
    """Read a call."""
    reads, makes = (
        tuple(map(shape_from, step[x])) for x in ("inputs", "outputs")
    )
    where = module_label(step["module"], step["kind"])
    return Row(where, step["variable"], step["call"], reads, makes, types)


def kinds_in(step: Data, side: str) -> list[DtypeDevice]:
    """Read the data types and devices of what went in, or came out; they
    are "" in a text that was written before they were."""
    return [(x.get("dtype", ""), x.get("device", "")) for x in step[side]]


def shape_from(tensor: Data) -> Shape:
    """Read a named shape."""
    return tuple(
        Axis(size, axis["name"], axis["known"])
        for size, axis in zip(tensor["shape"], tensor["axes"])
    )
