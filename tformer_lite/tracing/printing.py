"""Live printing: the shapes of each step, while the model runs."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from tformer_lite.tracing.axes.names import Shapes, shapes_text
from tformer_lite.tracing.axes.probes import aside
from tformer_lite.tracing.axes.sizes import Given
from tformer_lite.tracing.listing.events import module_shapes
from tformer_lite.tracing.record.recorder import Recorder, Step, named_steps
from tformer_lite.tracing.record.tensors import tensors
from tformer_lite.tracing.tables import Row, call_line, heading
from tformer_lite.tracing.traced import Trace
from tformer_lite.tracing.tracer import trace
from tformer_lite.tracing.writing import text_line


@contextmanager
def print_shapes(
    model: nn.Module,
    calls: bool = False,
    dims: Given | None = None,
    axes: list[str] | None = None,
    build: Callable | None = None,
) -> Iterator[nn.Module]:
    """Print the shapes in and out of every module while the model runs.

    Use it in a `with` statement; one line a module, as each finishes, so
    the parts come before the whole. With `calls`, one line a torch call
    instead, under the path of its module.

    With `dims`, and with `axes` or `build`, axes have names, known as in
    `trace`: the model runs ahead, unseen and at other sizes too. A shape
    that is not as it was then is printed in numbers. The hooks are removed
    at the end, whatever happened.
    """
    preview = Preview(dims, axes=axes, build=build)
    with ExitStack() as stack:
        hook = model.register_forward_pre_hook(preview.run, with_kwargs=True)
        stack.callback(hook.remove)
        if calls:
            stack.enter_context(LiveCalls(model, preview))
        else:
            print_modules(model, preview, stack)
        yield model


def print_modules(
    model: nn.Module, preview: "Preview", stack: ExitStack
) -> None:
    """Let each module print a line when it has run."""
    paths = {module: path for path, module in model.named_modules()}
    width = max(len(module_label(*item)) for item in paths.items())

    def show(
        module: nn.Module, args: tuple, kwargs: dict, output: Any
    ) -> None:
        if not preview.busy:
            label = module_label(module, paths[module])
            inputs, outputs = preview.module_axes(paths[module])
            reads = measured_text(tensors([*args, *kwargs.values()]), inputs)
            makes = measured_text(tensors(output), outputs)
            print(text_line((label, f"{reads} -> {makes}"), (width, 0)))

    for module in paths:
        hook = module.register_forward_hook(show, with_kwargs=True)
        stack.callback(hook.remove)


class LiveCalls(Recorder):
    """Print each torch call of a model's modules as soon as it is made."""

    def __init__(self, model: nn.Module, preview: "Preview"):
        super().__init__(model)
        self.steps = named_steps(self.raw, self.marks.shapes)
        self.preview, self.shown = preview, 0
        self.heading = ""
        self.kinds: dict[tuple, set[str]] = defaultdict(set)

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if self.preview.busy:
            return function(*args, **kwargs or {})
        try:
            return super().__torch_function__(function, types, args, kwargs)
        except Exception:
            if self.failed:
                self.raw.append(self.failed[1])
            raise
        finally:
            if len(self.raw) > self.shown:
                self.shown += 1
                self.show(next(self.steps))

    def show(self, step: Step) -> None:
        """Print a step, under its module's path where that is another."""
        if not step.visit.kind:
            return
        row = self.preview.row(step)
        kinds = self.kinds[step.visit, step.place[0]]
        kinds.add(step.name)
        call = step.line if len(kinds) == 1 else step.name
        reads = measured_text(step.reads, row.inputs if row else ())
        makes = measured_text(step.makes, row.outputs if row else ())
        above = heading(step.visit.path, step.visit.kind)
        if self.heading != above:
            self.heading = above
            print(above)
        print(call_line(row.call if row else call, reads, makes or "failed"))


class Preview:
    """Trace a model, unseen, whenever it is about to run; `busy` meanwhile.
    Its calls and modules are handed out in order, as long as those that run
    are the same.

    Without `dims` no axis can have a name, and it does not run.
    """

    def __init__(self, dims: Given | None, **names: Any):
        self.dims, self.names, self.busy = dims, names, False
        self.calls: Iterator[tuple[Step, Row]] = iter(())
        self.modules: Iterator[tuple[str, Shapes, Shapes]] = iter(())

    def run(self, model: nn.Module, args: tuple, kwargs: dict) -> None:
        """Run before a call of the model."""
        if self.dims is None or self.busy:
            return
        if self.names["build"]:  # it has inputs of its own
            args, kwargs = (), {}
        self.busy = True
        try:
            with aside(model):
                options = {"dims": self.dims, **self.names, **kwargs}
                seen = furthest_trace(model, *args, **options)
                self.calls = zip(seen.steps, seen.table.rows)
                self.modules = module_shapes(seen)
        finally:
            self.busy = False

    def row(self, step: Step) -> Row | None:
        """Give the row of a step that runs now, if it is known."""
        known, row = next(self.calls, (None, None))
        if known and call_key(known) == call_key(step):
            return row
        self.calls = iter(())
        return None

    def module_axes(self, path: str) -> tuple[Shapes, Shapes]:
        """Give the axes that a module reads and makes, if they are known."""
        known, reads, makes = next(self.modules, ("", (), ()))
        if known == path:
            return reads, makes
        self.modules = iter(())
        return (), ()


def furthest_trace(model: nn.Module, *inputs: Any, **options: Any) -> Trace:
    """Trace a model as far as it gets."""
    try:
        return trace(model, *inputs, **options)
    except Exception as error:
        if not hasattr(error, "trace"):
            raise
        return error.trace


def call_key(step: Step) -> tuple[str, Callable]:
    """Tell a call from others: its module's path, and the function."""
    return step.visit.path, step.function


def module_label(module: nn.Module, path: str) -> str:
    """Name a module: its path, when it has one, and its class."""
    return f"{path} {type(module).__name__}".strip()


def measured_text(found: Sequence, known: Shapes) -> str:
    """Write the shapes of tensors, or of marks, with the names of their axes
    where the sizes are as they were then."""
    shapes = [one.shape for one in found]
    if [torch.Size(axis.size for axis in shape) for shape in known] == shapes:
        return shapes_text(known)
    return ", ".join(str(tuple(shape)) for shape in shapes)
