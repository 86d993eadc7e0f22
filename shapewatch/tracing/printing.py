"""Live printing: the shapes of each step, while the model runs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

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
from shapewatch.tracing.record.recorder import Recorder, Step
from shapewatch.tracing.record.shared import THREAD, eagerly, noting
from shapewatch.tracing.record.state import aside
from shapewatch.tracing.record.tensors import name_of, tensors
from shapewatch.tracing.record.visits import Visit
from shapewatch.tracing.tables import call_line, module_label, text_line
from shapewatch.tracing.tracer import Trace, trace


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
    listed = call_lines if calls else module_shapes
    preview = Preview(listed, dims=dims, axes=axes, build=build)
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


def print_modules(
    model: nn.Module, preview: "Preview", stack: ExitStack
) -> None:
    """Let each module print a line when it has run."""
    paths = {module: path for path, module in model.named_modules()}
    labels = {m: f"{paths[m]} {type(m).__name__}".strip() for m in paths}
    width = max(map(len, labels.values()))

    def show(module: nn.Module, args: tuple, kwargs: dict, out: Any) -> None:
        if not preview.busy:
            inputs, outputs = preview.next(paths[module], (), ())
            reads = measured_text(tensors([*args, *kwargs.values()]), inputs)
            makes = measured_text(tensors(out), outputs)
            cells = labels[module], f"{reads} -> {makes}"
            print(text_line(cells, (width, 0)))

    for module in paths:
        if isinstance(module, torch.jit.ScriptModule):  # it takes no hook
            THREAD.notes["scripted modules have no line here"] = None
            continue
        hook = module.register_forward_hook(show, with_kwargs=True)
        stack.enter_context(hook)


class PlainCalls(TorchFunctionMode):
    """Print the name of each torch call, and the shapes in and out."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        made = function(*args, **kwargs or {})
        if out := measured_text(tensors(made), ()):
            attribute = getattr(function, "__self__", None)  # of x.mT: mT
            name = name_of(attribute or function).strip("_")
            given = measured_text(tensors([args, kwargs or {}]), ())
            print(f"{name:12} {given} -> {out}".replace("  ->", " ->"))
        return made


class LiveCalls(Recorder):
    """Print each torch call of a model's modules as soon as it is made."""

    def __init__(self, model: nn.Module, preview: "Preview"):
        super().__init__(model)
        self.preview, self.label = preview, ""
        self.waiting: Step | None = None
        self.turn = 0

    def note(self, *made: Any) -> Step:
        """Write a call down, and print it. The first that a library makes
        for a line waits: it may be the only one, and has the line then."""
        step = super().note(*made)
        if step.visit.kind and not self.preview.busy:
            how = "name" if step.turn == self.turn > 0 else "line"
            self.show(how)
            self.turn, self.waiting = step.turn, step
            if how == "name" or not step.turn:
                self.show(how)
        return step

    def leave(self, visit: Visit) -> None:
        """Print what waits, when a module gives what its line asked for."""
        if visit.direct:
            self.show("line")

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.show("line")

    def show(self, how: str) -> None:
        """Print the call that waits, by its line or its name, under its
        module's path where that is another."""
        step, self.waiting = self.waiting, None
        if step is None:
            return
        key, text = (step.visit.path, step.function), getattr(step, how)
        call, inputs, outputs = self.preview.next(key, text, (), ())
        reads = measured_text(step.reads, inputs)
        makes = measured_text(step.makes, outputs)
        label = module_label(step.visit.path, step.visit.kind)
        if label != self.label:
            print(label)
        self.label = label
        print(call_line(call, reads, makes or "failed"))


class Preview:
    """Trace a model, unseen, whenever it is about to run; `busy` meanwhile.

    What is `listed` of the trace is handed out in order, as long as what
    runs is the same. Without `dims` or `axes` no axis can have a name, and
    the model does not run ahead.
    """

    def __init__(self, listed: Callable, **names: Any):
        self.listed, self.names = listed, names
        self.ahead: Iterator[tuple] = iter(())
        self.busy = False

    def run(self, model: nn.Module, args: tuple, kwargs: dict) -> None:
        """Run before a call of the model."""
        named = self.names["dims"], self.names["axes"]
        if self.busy or named == (None, None):
            return
        self.busy = True
        try:
            with noting(), aside(model, args, kwargs):
                seen = self.trace(model, args, kwargs)
        except Exception as error:
            if not hasattr(error, "trace"):
                raise
            seen = error.trace  # as far as it gets
        finally:
            self.busy = False
        self.ahead = self.listed(seen._calls)

    def trace(self, model: nn.Module, args: tuple, kwargs: dict) -> Trace:
        """Trace a call; in the next one, the named axes of the inputs may
        have other sizes."""
        names, axes = dict(self.names), self.names["axes"]
        if axes is not None:
            was, inputs = names["dims"] or {}, names_of_axes(axes)
            names["dims"] = measured_dims(model, args, kwargs, axes, was)
            self.names["dims"] = {
                name: size
                for name, size in was.items()
                if isinstance(size, str) or name not in inputs
            }
        if names["build"]:  # it has inputs of its own
            return trace(**names)
        return trace(model, *args, **names, **kwargs)

    def next(self, key: object, *unknown: Any) -> Sequence:
        """Give what is known of what runs now."""
        known, *found = next(self.ahead, (None,))
        if known == key:
            return found
        self.ahead = iter(())
        return unknown


def call_lines(calls: Calls) -> Iterator[tuple[tuple, str, Shapes, Shapes]]:
    """List each call of a run, and its axes, by its module and function."""
    for step, row in zip(calls.steps, calls.table.rows):
        key = step.visit.path, step.function
        yield key, row.call, row.inputs, row.outputs


def measured_text(found: Sequence, known: Shapes) -> str:
    """Write the shapes of tensors, or of marks, with the names of their axes
    where the sizes are as they were then."""
    shapes = [one.shape for one in found]
    if [torch.Size(axis.size for axis in shape) for shape in known] == shapes:
        return shapes_text(known)
    return ", ".join(str(tuple(shape)) for shape in shapes)
