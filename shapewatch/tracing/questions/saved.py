"""Traces as JSON, and as files of shapes, names and kept values, and no code.

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

A file is a dictionary that `torch.load` reads with weights_only=True: this
JSON, the sizes of all runs, the "path:variable" of what each call makes, the
values that were kept, the attention that was found in them, and the trace as
it is printed. A pickle of a trace has the same.
"""

import json
from os import PathLike
from typing import Any, NamedTuple

import torch
from torch import Size, Tensor

from shapewatch.tracing.axes.names import Axis, Shape
from shapewatch.tracing.calls import (
    Axes,
    Calls,
    kept_value,
    kinds_of,
    new_kinds,
)
from shapewatch.tracing.questions.attention import Attention, find_attention
from shapewatch.tracing.questions.compare import Comparison, compare
from shapewatch.tracing.record.recorder import RecordedRun, Step
from shapewatch.tracing.record.tensors import USUAL, Mark
from shapewatch.tracing.record.visits import Visit
from shapewatch.tracing.tables import Printable, Row, Table, module_label

JSON_VERSION = FILE_VERSION = 1
# The package that the tracer was a part of when this format began.
FORMAT = "tformer_lite trace"
File = str | PathLike[str]


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
        "inputs": [tensor_data(*one, numbers) for one in reads],
        "outputs": [tensor_data(*one, numbers) for one in makes],
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


class SavedStep(NamedTuple):
    """A call that was saved: the function's name, the module that it is in,
    and the tensors that it reads and makes."""

    name: str
    visit: Visit
    reads: list[Mark]
    makes: list[Mark]


def from_json(text: str) -> Table:
    """Read the table of a trace from its JSON.

    Raises ValueError for a text of another version, or of something else.
    """
    return read_json(text)[1]


def read_json(text: str) -> tuple[list[SavedStep], Table]:
    """Read the calls of a trace, and its table."""
    data = json.loads(text)
    version = data.get("version") if isinstance(data, dict) else None
    if version != JSON_VERSION:
        raise ValueError(
            f"this is no trace of version {JSON_VERSION}: its version is "
            f"{version!r}. Write it again with trace(...).to_json()."
        )
    steps, rows = list[SavedStep](), list[Row]()
    for call in data["steps"]:
        visit = Visit(call["module"], call["nth"], call["kind"])
        sides = call["inputs"], call["outputs"]
        marks = (list(map(saved_mark, side)) for side in sides)
        steps.append(SavedStep(call["function"], visit, *marks))
        where = module_label(visit.path, visit.kind)
        reads, makes = (tuple(map(saved_shape, side)) for side in sides)
        rows.append(Row(where, call["variable"], call["call"], reads, makes))
    kinds = zip(rows, new_kinds(steps))
    rows = [row._replace(types=types) for row, types in kinds]
    return steps, Table(rows, data["notes"])


def saved_mark(data: dict[str, Any]) -> Mark:
    """Read a tensor."""
    dtype, device = getattr(torch, data["dtype"]), torch.device(data["device"])
    return Mark(data["number"], Size(data["shape"]), dtype, device)


def saved_shape(data: dict[str, Any]) -> Shape:
    """Read a named shape."""
    return tuple(
        Axis(size, axis["name"], axis["known"])
        for size, axis in zip(data["shape"], data["axes"])
    )


class TracedCalls(Printable):
    """The calls of a run, and what is asked of them and of kept values."""

    def __init__(self, calls: Calls):
        self._calls, self.notes, self.steps = calls, calls.notes, calls.steps
        self.result = calls.run.result
        self.sizes = [run.sizes for run in calls.runs]

    @property
    def axes(self) -> list[Axes]:
        """The named axes of what each call reads, and of what it makes."""
        return self._calls.axes

    def calls(self) -> Table:
        """List every torch call."""
        return self._calls.table

    def at(self, pattern: str) -> Table:
        """Show a module, and all within it; * stands for anything."""
        return self._calls.table.at(pattern)

    def __getitem__(self, name: str | tuple[str, int]) -> Tensor:
        """Give a kept value by "path:variable", or by a variable that only
        one module has; with a number after it, one of several of that name."""
        text, nth = name if isinstance(name, tuple) else (name, None)
        return kept_value(self._calls, text, nth)

    def __len__(self) -> int:
        return len(self.steps)

    def compare(self, reference: "TracedCalls") -> Comparison:
        """Find where this run and another, maybe a saved one, part first."""
        return compare(self._calls, reference._calls)


class SavedTrace(TracedCalls):
    """A trace that was saved or pickled: it prints, gives kept values by
    name, and is compared with others. It has no model that could run again.

    `steps`, `axes`, `sizes` and `notes` are as in a `Trace`; `result` is None.
    """

    def __init__(self, data: dict[str, Any]):
        first, *others = map(RecordedRun, data["sizes"])
        steps: Any
        steps, table = read_json(data["json"])
        first.steps, first.values.kept = steps, dict(data["kept"])
        calls = Calls(first, [*others], table.notes, data["dims"])
        calls.table = table
        calls.axes = [(row.inputs, row.outputs) for row in table.rows]
        calls.names, self._data = data["names"], data
        super().__init__(calls)

    def __reduce__(self) -> tuple:
        return SavedTrace, (self._data,)

    def _lines(self) -> list[str]:
        return self._data["text"]

    def _repr_html_(self) -> str:
        return self._data["html"]

    def attention(self) -> list[Attention]:
        """Give every attention that was found when this was saved."""
        found = self._data["attention"]
        if isinstance(found, str):
            raise ValueError(found)
        return [
            Attention(path, tuple(Axis(*x) for x in axes), *parts)
            for path, axes, *parts in found
        ]

    def to_json(self) -> str:
        """Give the trace as JSON; `questions.saved` has the schema."""
        return self._data["json"]


def saved_data(calls: Calls, printed: Any) -> dict[str, Any]:
    """Give all that is saved of a trace, as it is printed: no tensors of
    classes that others have made, and none of a vmap."""
    kept = calls.run.values.kept.items()
    try:
        attention: Any = [
            (x.path, list(map(tuple, x.axes)), *x[2:])
            for x in find_attention(calls)
        ]
    except ValueError as error:  # why it cannot be given
        attention = str(error)
    return {
        "format": FORMAT,
        "version": FILE_VERSION,
        "json": to_json(calls),
        "sizes": [run.sizes for run in calls.runs],
        "dims": calls.given,
        "names": calls.names,
        "kept": {i: x for i, x in kept if all(map(is_plain, x))},
        "attention": attention,
        "text": printed._lines(),
        "html": printed._repr_html_(),
    }


def is_plain(tensor: Tensor) -> bool:
    """Whether a tensor is of PyTorch's own class, and not inside a vmap."""
    inside = torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    return type(tensor) in USUAL and not inside


def load_trace(file: File) -> SavedTrace:
    """Read a trace that `seen.save(file)` wrote, on the CPU. No code in the
    file is run.

    Raises ValueError for a file of something else, or of another version.

    >>> trace(torch.relu, torch.ones(2, 3)).save("relu.pt")
    >>> load_trace("relu.pt")
    (outside every module)
      relu                                (2?, 3?) -> (2?, 3?)
    """
    try:
        data = torch.load(file, map_location="cpu", weights_only=True)
        known = data["version"]
        if data["format"] != FORMAT:
            raise KeyError(FORMAT)
        if known == FILE_VERSION:
            return SavedTrace(data)
    except OSError:
        raise
    except Exception as error:
        raise ValueError(
            f"{file} is no saved trace: seen.save(file) writes one."
        ) from error
    raise ValueError(
        f"{file} is a saved trace of version {known!r}, and version "
        f"{FILE_VERSION} is known here: trace and save it again, or load it "
        "with the release that wrote it."
    )
