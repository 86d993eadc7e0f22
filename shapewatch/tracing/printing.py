"""Live printing: the shapes of each step, while the model runs."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from shapewatch.tracing.axes.names import Shapes, shapes_text
from shapewatch.tracing.axes.sizes import Dims
from shapewatch.tracing.calls import Calls, module_shapes
from shapewatch.tracing.inputs import (
    Names,
    measured_dims,
    names_of_axes,
)
from shapewatch.tracing.record.models import model_call
from shapewatch.tracing.record.shared import eagerly, noting
from shapewatch.tracing.record.state import aside
from shapewatch.tracing.record.tensors import name_of, shapes_of
from shapewatch.tracing.tables import text_line
from shapewatch.tracing.tracer import trace


def print_shapes(
    model: nn.Module | None = None,
    *,
    dims: Dims | None = None,
    axes: Names | None = None,
) -> AbstractContextManager[nn.Module | None]:
    """Print the shapes in and out of every module while the model runs.

    One line a module, as each finishes, so the parts come before the whole.
    In a `with` statement, the hooks are removed at its end, whatever
    happened. Called without `with`, it prints from then on.

    With `axes`, which name those of the inputs, axes have names, known as in
    `trace`: the model runs ahead, unseen and at other sizes too. A shape that
    is not as it was then is printed in numbers. Raises TypeError for what is
    no module.

        with print_shapes(model, axes=["B T"]):
            model(ids)

    Without a model, whatever is called inside `with` is printed, one line a
    torch call:

    >>> with print_shapes():
    ...     y = torch.ones(2, 3) @ torch.ones(3, 4)
    ones         -> (2, 3)
    ones         -> (3, 4)
    matmul       (2, 3), (3, 4) -> (2, 4)
    """
    if model is None:
        return PlainCalls()
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"print_shapes needs a module, not a {type(model).__name__}: "
            "trace(function, ...) lists the calls of a function."
        )
    return ModulePrinter(model, Preview(dims, axes))


class PlainCalls(TorchFunctionMode):
    """Print the name of each torch call, and the shapes in and out."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **kwargs or {})
        if makes := numbers_text(shapes_of((result,))):
            attribute = getattr(function, "__self__", None)  # of x.mT: mT
            name = name_of(attribute or function).strip("_")
            reads = numbers_text(shapes_of((args, kwargs or {})))
            print(f"{name:12} {reads} -> {makes}".replace("  ->", " ->"))
        return result


ModuleShapes = tuple[str, Shapes, Shapes]  # a path, shapes in and out


class Preview:
    """Trace a model, unseen, whenever it is about to run; `busy` meanwhile.

    What each module read and made is handed out in order, as long as what
    runs is the same. Without `dims` or `axes` no axis can have a name, and
    the model does not run ahead.
    """

    def __init__(self, dims: Dims | None, axes: Names | None):
        self.dims, self.axes = dims, axes
        self.ahead: Iterator[ModuleShapes] = iter(())
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
        self.ahead = module_shapes(calls)

    def traced_calls(
        self, model: nn.Module, args: tuple, kwargs: dict
    ) -> Calls:
        """Trace a call, as far as it gets; in the next one, the named axes
        of the inputs may have other sizes."""
        dims, axes = self.dims, self.axes
        if axes is not None:
            call = model_call(model, args, kwargs)
            dims, _ = measured_dims(call, axes, self.dims or {})
            self.dims = {
                name: size
                for name, size in (self.dims or {}).items()
                if isinstance(size, str) or name not in names_of_axes(axes)
            }
        try:
            return trace(model, *args, dims=dims, axes=axes, **kwargs)._calls
        except Exception as error:
            if not hasattr(error, "trace"):
                raise
            return error.trace._calls

    def shapes_of(self, path: str) -> tuple[Shapes, Shapes]:
        """Give the shapes in and out of the module that has run; none of one
        that did not run ahead."""
        module, inputs, outputs = next(self.ahead, ("", (), ()))
        if module == path:
            return inputs, outputs
        self.ahead = iter(())
        return (), ()


class ModulePrinter(AbstractContextManager[nn.Module]):
    """Lets each module print a line when it has run, but for a scripted one,
    which takes no hook; leaving `with` stops that."""

    def __init__(self, model: nn.Module, preview: Preview):
        self.model, self.preview = model, preview
        self.paths = {module: path for path, module in model.named_modules()}
        self.labels = {
            module: f"{path} {type(module).__name__}".strip()
            for module, path in self.paths.items()
        }
        self.hooks, first = ExitStack(), model.register_forward_pre_hook
        self.hooks.enter_context(first(preview.run, with_kwargs=True))
        for part in self.paths:
            if not isinstance(part, torch.jit.ScriptModule):
                hook = part.register_forward_hook(self.show, with_kwargs=True)
                self.hooks.enter_context(hook)

    def show(
        self, module: nn.Module, args: tuple, kwargs: dict, result: Any
    ) -> None:
        """Print what a module was given, and what it made of it."""
        if self.preview.busy:
            return
        inputs, outputs = self.preview.shapes_of(self.paths[module])
        reads = measured_text(shapes_of((args, kwargs)), inputs)
        makes = measured_text(shapes_of((result,)), outputs)
        width = max(map(len, self.labels.values()))
        line = self.labels[module], f"{reads} -> {makes}"
        print(text_line(line, (width, 0)))

    def __enter__(self) -> nn.Module:
        self.hooks.enter_context(eagerly())
        return self.model

    def __exit__(self, *_: object) -> None:
        self.hooks.close()


def measured_text(sizes: list[torch.Size], named: Shapes) -> str:
    """Write shapes, with the names of their axes where the sizes are as they
    were then."""
    if [torch.Size(axis.size for axis in shape) for shape in named] == sizes:
        return shapes_text(named)
    return numbers_text(sizes)


def numbers_text(sizes: Iterable[torch.Size]) -> str:
    """Write shapes in numbers: (2, 8), (3, 4)."""
    return ", ".join(str(tuple(shape)) for shape in sizes)
