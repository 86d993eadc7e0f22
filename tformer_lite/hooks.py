"""Shape-printing hooks: each module says what comes in and what goes out."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn


def print_shapes(
    model: nn.Module | None = None, **names: Any
) -> AbstractContextManager[nn.Module | None]:
    """Print the shapes in and out of every module while the model runs:

        with print_shapes(model):
            model(src, tgt)

    A line for each module, as it finishes: the parts come before the whole.
    Without a model, a line for each torch call. TypeError for no module.
    Other names go to `shapewatch.print_shapes`: with `axes=["B T"]` it names
    the axes.
    """
    if names or model is None:
        from shapewatch import print_shapes as print_named

        return print_named(model, **names)
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"print_shapes is for modules, and a {type(model).__name__} is "
            "none: trace(function, ...) lists the calls of a function."
        )
    return with_hooks(model)


@contextmanager
def with_hooks(model: nn.Module) -> Iterator[nn.Module]:
    """Let every module of a model print a line when it has run.

    PyTorch calls a *forward hook* whenever its module has run, with what
    went in and came out. In the end, all are removed, whatever happened.
    """
    labels = {
        module: f"{path} {type(module).__name__}".strip()
        for path, module in model.named_modules()
    }
    width = max(map(len, labels.values()))

    def show(module: nn.Module, args: tuple, kwargs: dict, out: Any) -> None:
        given, made = shapes_text(args, kwargs), shapes_text(out)
        print(f"{labels[module]:{width}}  {given} -> {made}".rstrip())

    with ExitStack() as hooks:
        for module in labels:
            hook = module.register_forward_hook(show, with_kwargs=True)
            hooks.enter_context(hook)  # the end of `with` removes it
        yield model


def shapes_text(*things: Any) -> str:
    """Write the shapes of all tensors in some things: "(2, 8), (2, 8)"."""
    return ", ".join(str(tuple(x.shape)) for x in tensors(things))


def tensors(thing: Any) -> Iterator[Tensor]:
    """Find the tensors in a thing, also in tuples, lists and dictionaries."""
    parts = thing.values() if isinstance(thing, dict) else thing
    if isinstance(thing, Tensor):
        yield thing
    elif isinstance(thing, (dict, tuple, list)):
        for part in parts:
            yield from tensors(part)
