"""Shape-printing hooks: each module says what comes in and what goes out."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn


@contextmanager
def print_shapes(model: nn.Module, **names: Any) -> Iterator[nn.Module]:
    """Print the shapes in and out of every module while the model runs:

        with print_shapes(model):
            model(src, tgt)

    A line for each module, as it finishes: the parts come before the whole.
    PyTorch calls a *forward hook* whenever a module has run, with what it was
    given and what it made; at the end of the `with` statement all hooks are
    removed, whatever happened. Raises TypeError for what is no module.

    With `calls=True` there is a line for each torch call; with `dims`, and
    `axes` or `build`, axes have names, as in `trace`. Both are the tracer's:
    `shapewatch.print_shapes` has them.
    """
    if names:
        from shapewatch import print_shapes as print_named

        with print_named(model, **names):
            yield model
        return
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"print_shapes is for modules, and a {type(model).__name__} is "
            "none: trace(function, ...) lists the calls of a function."
        )
    labels = {
        part: f"{path} {type(part).__name__}".strip()
        for path, part in model.named_modules()
    }
    width = max(map(len, labels.values()))

    def show(part: nn.Module, args: tuple, kwargs: dict, result: Any) -> None:
        given, made = shapes(args, kwargs), shapes(result)
        print(f"{labels[part]:{width}}  {given} -> {made}".rstrip())

    with ExitStack() as hooks:
        for part in labels:
            hook = part.register_forward_hook(show, with_kwargs=True)
            hooks.enter_context(hook)  # leaving the stack removes it
        yield model


def shapes(*things: Any) -> str:
    """Write the shapes of all tensors in some things: "(2, 8), (2, 8)"."""
    return ", ".join(str(tuple(x.shape)) for x in tensors(things))


def tensors(thing: Any) -> Iterator[Tensor]:
    """Find the tensors in a thing, also in tuples, lists and dictionaries."""
    if isinstance(thing, Tensor):
        yield thing
    elif isinstance(thing, dict):
        yield from tensors(tuple(thing.values()))
    elif isinstance(thing, (tuple, list)):
        for part in thing:
            yield from tensors(part)
