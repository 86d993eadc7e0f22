"""Live printing: the shapes of each step, while the model runs."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import nn

from tformer_lite.tracing.ahead import Ahead
from tformer_lite.tracing.axes.names import shape_text
from tformer_lite.tracing.axes.sizes import Given
from tformer_lite.tracing.record.recorder import Recorder, Step, named_steps
from tformer_lite.tracing.record.run import Axes, where
from tformer_lite.tracing.record.tensors import tensors
from tformer_lite.tracing.tables import Row


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
    ahead = Ahead(model, dims, axes, build)
    with ExitStack() as stack:
        hook = model.register_forward_pre_hook(ahead.start, with_kwargs=True)
        stack.callback(hook.remove)
        if calls:
            stack.enter_context(Live(model, ahead))
        else:
            hooked(model, ahead, stack)
        yield model


def hooked(model: nn.Module, ahead: Ahead, stack: ExitStack) -> None:
    """Let each module print a line when it has run."""
    paths = {module: path for path, module in model.named_modules()}
    width = max(len(label(*item)) for item in paths.items())

    def show(module, args, kwargs, output):
        if not ahead.busy:
            name = label(module, paths[module]).ljust(width)
            reads, makes = ahead.module(paths[module])
            reads = shapes((*args, *kwargs.values()), reads)
            print(f"{name}  {reads} -> {shapes(output, makes)}")

    for module in paths:
        hook = module.register_forward_hook(show, with_kwargs=True)
        stack.callback(hook.remove)


class Live(Recorder):
    """Print each torch call of a model's modules as soon as it is made."""

    def __init__(self, model: nn.Module, ahead: Ahead):
        super().__init__(model)
        self.steps = named_steps(self.raw, self.marks.shapes)
        self.ahead, self.path, self.shown = ahead, None, 0
        self.kinds: dict[tuple, set[str]] = defaultdict(set)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if self.ahead.busy:
            return function(*args, **kwargs or {})
        try:
            return super().__torch_function__(function, types, args, kwargs)
        except Exception:
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
        call, axes = self.ahead.call(step)
        kinds = self.kinds[step.visit, step.code, step.at]
        kinds.add(step.name)
        call = call or (step.line if len(kinds) == 1 else step.name)
        reads, makes = (
            written([mark.shape for mark in marks], names)
            for marks, names in zip((step.reads, step.makes), axes)
        )
        if self.path != where(step):
            self.path = where(step)
            print(self.path)
        print(Row(self.path, call, reads, makes or "failed"))


def label(module: nn.Module, path: str) -> str:
    """Name a module: its path, when it has one, and its class."""
    return f"{path} {type(module).__name__}".strip()


def shapes(value, axes: Axes) -> str:
    """Write the shape of every tensor in a value, in order."""
    return written([x.shape for x in tensors(value)], axes)


def written(found: list[torch.Size], axes: Axes) -> str:
    """Write shapes with the names of their axes, where the sizes agree."""
    if [torch.Size(axis.size for axis in names) for names in axes] == found:
        return ", ".join(map(shape_text, axes))
    return ", ".join(str(tuple(shape)) for shape in found)
