"""Live printing: the shapes of each step, while the model runs."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from shapewatch.tracing.axes.inputs import (
    Names,
    measured_dims,
    names_of_axes,
)
from shapewatch.tracing.axes.names import Shapes, shapes_text
from shapewatch.tracing.axes.sizes import Dims
from shapewatch.tracing.calls import Calls, module_shapes
from shapewatch.tracing.record.models import model_call
from shapewatch.tracing.record.recorder import Recorder, Step
from shapewatch.tracing.record.shared import THREAD, eagerly, noting
from shapewatch.tracing.record.state import aside
from shapewatch.tracing.record.tensors import name_of, shapes_of
from shapewatch.tracing.record.visits import Visit
from shapewatch.tracing.tables import call_line, module_label, text_line
from shapewatch.tracing.tracer import trace


@contextmanager
def print_shapes(
    model: nn.Module | None = None,
    *,
    calls: bool = False,
    dims: Dims | None = None,
    axes: Names | None = None,
    build: Callable | None = None,
) -> Iterator[nn.Module | None]:
    """Print the shapes in and out of every module while the model runs.

    Use it in a `with` statement; one line a module, as each finishes, so
    the parts come before the whole. With `calls`, one line a torch call
    instead, under the path of its module.

    With `axes`, which name those of the inputs, or `build`, axes have names,
    known as in `trace`: the model runs ahead, unseen and at other sizes too.
    A shape that is not as it was then is printed in numbers. The hooks are
    removed at the end, whatever happened. Raises TypeError for what is no
    module.

        with print_shapes(model, axes=["B T"]):
            model(ids)

    Without a model, whatever is called is printed, one line a torch call:

    >>> with print_shapes():
    ...     y = torch.ones(2, 3) @ torch.ones(3, 4)
    ones         -> (2, 3)
    ones         -> (3, 4)
    matmul       (2, 3), (3, 4) -> (2, 4)
    """
    if model is None:
        with PlainCalls():
            yield None
        return
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"print_shapes is for modules, and a {type(model).__name__} is "
            "none: trace(function, ...) lists the calls of a function."
        )
    preview = Preview(call_lines if calls else module_lines, dims, axes, build)
    with ExitStack() as stack:
        first = model.register_forward_pre_hook(preview.run, with_kwargs=True)
        stack.enter_context(first)
        stack.enter_context(eagerly())
        notes = stack.enter_context(noting())
        if calls:
            stack.enter_context(LiveCalls(model, preview))
        else:
            print_modules(model, preview, stack)
        yield model
        for note in notes:
            print(f"note: {note}")


class PlainCalls(TorchFunctionMode):
    """Print the name of each torch call, and the shapes in and out."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **kwargs or {})
        if makes := sizes_text(shapes_of((result,))):
            attribute = getattr(function, "__self__", None)  # of x.mT: mT
            name = name_of(attribute or function).strip("_")
            reads = sizes_text(shapes_of((args, kwargs or {})))
            print(f"{name:12} {reads} -> {makes}".replace("  ->", " ->"))
        return result


class NamedLine(NamedTuple):
    """A line that a run ahead made: which module or call it is of, what was
    called, and the named shapes in and out."""

    key: object
    call: str
    inputs: Shapes
    outputs: Shapes


def module_lines(calls: Calls) -> Iterator[NamedLine]:
    """List each module of a run, as they finish."""
    for path, inputs, outputs in module_shapes(calls):
        yield NamedLine(path, "", inputs, outputs)


def call_lines(calls: Calls) -> Iterator[NamedLine]:
    """List each call of a run, by its module and function."""
    for step, row in zip(calls.steps, calls.table.rows):
        key = step.visit.path, step.function
        yield NamedLine(key, row.call, row.inputs, row.outputs)


class Preview:
    """Trace a model, unseen, whenever it is about to run; `busy` meanwhile.

    What `lines` lists of the trace is handed out in order, as long as what
    runs is the same. Without `dims` or `axes` no axis can have a name, and
    the model does not run ahead.
    """

    def __init__(
        self,
        lines: Callable[[Calls], Iterator[NamedLine]],
        dims: Dims | None,
        axes: Names | None,
        build: Callable | None,
    ):
        self.lines = lines
        self.dims, self.axes, self.build = dims, axes, build
        self.ahead: Iterator[NamedLine] = iter(())
        self.busy = False

    def run(self, model: nn.Module, args: tuple, kwargs: dict) -> None:
        """Run before a call of the model."""
        if self.busy or (self.dims is None and self.axes is None):
            return
        self.busy = True
        try:
            with noting(), aside(model, args, kwargs):
                calls = self.traced_calls(model, args, kwargs)
        finally:
            self.busy = False
        self.ahead = self.lines(calls)

    def traced_calls(
        self, model: nn.Module, args: tuple, kwargs: dict
    ) -> Calls:
        """Trace a call, as far as it gets; in the next one, the named axes
        of the inputs may have other sizes."""
        dims = self.dims
        if self.axes is not None:
            call = model_call(model, args, kwargs)
            dims, _ = measured_dims(call, self.axes, self.dims or {})
            inputs = names_of_axes(self.axes)
            self.dims = {
                name: size
                for name, size in (self.dims or {}).items()
                if isinstance(size, str) or name not in inputs
            }
        try:
            if self.build:  # it has inputs of its own
                return trace(
                    build=self.build, dims=dims, axes=self.axes
                )._calls
            named: Any = {"dims": dims, "axes": self.axes}
            return trace(model, *args, **named, **kwargs)._calls
        except Exception as error:
            if not hasattr(error, "trace"):
                raise
            return error.trace._calls

    def next(self, key: object, text: str = "") -> NamedLine:
        """Give the line of what runs now; of what is not known, a `text`."""
        line = next(self.ahead, None)
        if line and line.key == key:
            return line
        self.ahead = iter(())
        return NamedLine(key, text, (), ())


def print_modules(
    model: nn.Module, preview: Preview, stack: ExitStack
) -> None:
    """Let each module print a line when it has run."""
    paths = {module: path for path, module in model.named_modules()}
    labels = {m: f"{paths[m]} {type(m).__name__}".strip() for m in paths}
    width = max(map(len, labels.values()))

    def print_line(
        module: nn.Module, args: tuple, kwargs: dict, result: Any
    ) -> None:
        if preview.busy:
            return
        line = preview.next(paths[module])
        reads = measured_text(shapes_of((args, kwargs)), line.inputs)
        makes = measured_text(shapes_of((result,)), line.outputs)
        print(text_line((labels[module], f"{reads} -> {makes}"), (width, 0)))

    for module in paths:
        if isinstance(module, torch.jit.ScriptModule):  # it takes no hook
            THREAD.notes["scripted modules have no line here"] = None
            continue
        hook = module.register_forward_hook(print_line, with_kwargs=True)
        stack.enter_context(hook)


class LiveCalls(Recorder):
    """Print each torch call of a model's modules as soon as it is made.

    A call that a library makes for a line waits until the next: it is
    printed as the line where it is alone there, else by its name.
    """

    def __init__(self, model: nn.Module, preview: Preview):
        super().__init__(model)
        self.preview, self.label = preview, ""
        self.visits.leave = self.end_line
        self.waiting: Step | None = None
        self.turn = 0

    def note(self, *parts: Any) -> Step:
        """Write a call down, and print it, or let it wait."""
        step = super().note(*parts)
        if step.visit.kind and not self.preview.busy:
            alone = not step.turn == self.turn > 0
            self.print_waiting(alone)
            self.turn, self.waiting = step.turn, step
            if not (alone and step.turn):
                self.print_waiting(alone)
        return step

    def end_line(self, visit: Visit) -> None:
        """Print what waits, when a module gives what its line asked for."""
        if visit.direct:
            self.print_waiting()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.print_waiting()

    def print_waiting(self, alone: bool = True) -> None:
        """Print the call that waits, if one does, by its line or its name,
        under its module's path where that is another."""
        step, self.waiting = self.waiting, None
        if step is None:
            return
        text = step.line if alone else step.name
        line = self.preview.next((step.visit.path, step.function), text)
        reads = measured_text([x.shape for x in step.reads], line.inputs)
        makes = measured_text([x.shape for x in step.makes], line.outputs)
        label = module_label(step.visit.path, step.visit.kind)
        if label != self.label:
            print(label)
        self.label = label
        print(call_line(line.call, reads, makes or "failed"))


def measured_text(sizes: list[torch.Size], named: Shapes) -> str:
    """Write shapes, with the names of their axes where the sizes are as they
    were then."""
    if [torch.Size(axis.size for axis in shape) for shape in named] == sizes:
        return shapes_text(named)
    return sizes_text(sizes)


def sizes_text(sizes: Iterable[torch.Size]) -> str:
    """Write shapes in numbers: (2, 8), (3, 4)."""
    return ", ".join(str(tuple(shape)) for shape in sizes)
