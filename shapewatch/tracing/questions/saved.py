"""Saved traces: a file of shapes, names and kept values, and no code.

It is a dictionary that `torch.load` reads with weights_only=True: the JSON
of `questions.export`, the sizes of all runs, the "path:variable" of each
call, the values that were kept, and the attention that was found in them.
"""

import json
from os import PathLike
from typing import Any, NamedTuple

import torch
from torch import Size

from shapewatch.tracing.axes.names import Axis
from shapewatch.tracing.calls import Calls
from shapewatch.tracing.questions.compare import Comparison, compare
from shapewatch.tracing.questions.export import from_json, to_json
from shapewatch.tracing.questions.scores import Attention, find_attention
from shapewatch.tracing.questions.statistics import value_statistics
from shapewatch.tracing.record.recorder import RecordedRun
from shapewatch.tracing.record.tensors import USUAL, Mark
from shapewatch.tracing.record.visits import Visit
from shapewatch.tracing.tables import Sheet

# The package that the tracer was a part of when this format began.
FORMAT, FILE_VERSION = "tformer_lite trace", 1
File = str | PathLike[str]
Data = dict[str, Any]


class SavedStep(NamedTuple):
    """A call that was saved: the function's name, the module that it is in,
    and the tensors that it reads and makes."""

    name: str
    visit: Visit
    reads: list[Mark]
    makes: list[Mark]


class SavedTrace(Calls):
    """A trace that was saved: it prints, gives kept values by name, and is
    compared with others. It has no model that could run again."""

    def __init__(self, data: Data):
        first, *others = map(RecordedRun, data["sizes"])
        self.text, self.found = data["json"], data["attention"]
        table, read = from_json(self.text), json.loads(self.text)
        steps: Any = list(map(saved_step, read["steps"]))
        first.steps, first.values.kept = steps, dict(data["kept"])
        super().__init__(first, list(others), table.notes, data["dims"])
        self.table, self.names = table, list(data["names"])
        self.axes = [(row.inputs, row.outputs) for row in table.rows]

    def lines(self) -> list[str]:
        """Write the calls."""
        return self.table.lines()

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def attention(self) -> list[Attention]:
        """Give every attention that was found when this was saved."""
        if isinstance(self.found, str):
            raise ValueError(self.found)
        return [
            Attention(path, tuple(Axis(*x) for x in axes), *parts)
            for path, axes, *parts in self.found
        ]

    def compare(self, reference: Calls) -> Comparison:
        """Find the first call at which this run and a reference part."""
        return compare(self, reference)

    def statistics(self, pattern: str = "*:*") -> Sheet:
        """List the minimum, mean, maximum and standard deviation of what was
        kept: of all, of "path:variable", or of a module's path."""
        return value_statistics(self, pattern)

    def to_json(self) -> str:
        """Give the trace as JSON; `questions.export` has the schema."""
        return self.text


def saved_step(data: Data) -> SavedStep:
    """Read a call from its JSON."""
    visit = Visit(data["module"], data["nth"], data["kind"])
    reads, makes = (
        list(map(saved_mark, data[name])) for name in ("inputs", "outputs")
    )
    return SavedStep(data["function"], visit, reads, makes)


def saved_mark(data: Data) -> Mark:
    """Read a tensor from its JSON."""
    dtype, device = getattr(torch, data["dtype"]), torch.device(data["device"])
    return Mark(data["number"], Size(data["shape"]), dtype, device)


def save_trace(calls: Calls, file: File) -> None:
    """Write a trace and the values that it kept, but for tensors of classes
    that others have made."""
    kept = calls.run.values.kept.items()
    data = {
        "format": FORMAT,
        "version": FILE_VERSION,
        "json": to_json(calls),
        "sizes": [run.sizes for run in calls.runs],
        "dims": calls.given,
        "names": calls.names,
        "kept": {i: x for i, x in kept if {*map(type, x)} <= USUAL},
        "attention": attention_data(calls),
    }
    torch.save(data, file)


def attention_data(calls: Calls) -> list[tuple] | str:
    """List the attention of a run; or say why it cannot be given."""
    try:
        found = find_attention(calls)
    except ValueError as error:
        return str(error)
    return [(x.path, list(map(tuple, x.axes)), *x[2:]) for x in found]


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
    except OSError:
        raise
    except Exception as error:
        raise ValueError(no_trace_text(file)) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(no_trace_text(file))
    if data["version"] != FILE_VERSION:
        raise ValueError(
            f"{file} is a saved trace of version {data['version']!r}, and "
            f"version {FILE_VERSION} is known here: trace and save it again, "
            "or load it with the release that wrote it."
        )
    try:
        return SavedTrace(data)
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(no_trace_text(file)) from error


def no_trace_text(file: File) -> str:
    """Say that a file is something else."""
    return f"{file} is no saved trace: seen.save(file) writes one."
