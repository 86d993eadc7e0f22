"""Shape-printing hooks: each module says what comes in and what goes out."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from torch import Tensor, nn


def print_shapes(
    model: nn.Module | None = None, **names: Any
) -> AbstractContextManager[nn.Module | None]:
    """Print the shapes in and out of every module while the model runs:

        with print_shapes(model):
            model(src, tgt)

    A line for each module, as it finishes: the parts come before the whole.
    Called without `with`, it prints from then on. Without a model, a line for
    each torch call. Other names go to `shapewatch.print_shapes`: with
    axes=["B T"] it names the axes. TypeError for no module.
    """
    if names or model is None:
        from shapewatch import print_shapes as print_named

        return print_named(model, **names)
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"print_shapes needs a module, not a {type(model).__name__}: "
            "trace(function, ...) lists the calls of a function."
        )
    return ShapePrinter(model)


class ShapePrinter(AbstractContextManager[nn.Module]):
    """Lets every module print when it has run; leaving `with` stops that."""

    def __init__(self, model: nn.Module):
        paths = model.named_modules()
        names = {m: f"{path} {type(m).__name__}".strip() for path, m in paths}
        self.model, self.names = model, names
        with ExitStack() as hooks:  # called when their modules have run
            for part in names:
                hook = part.register_forward_hook(self.show, with_kwargs=True)
                hooks.enter_context(hook)
            self.hooks = hooks.pop_all()

    def show(self, part: nn.Module, args: Any, kwargs: Any, out: Any) -> None:
        """Print what a module was given, and what it made of it."""
        name = self.names[part].ljust(max(map(len, self.names.values())))
        shapes = f"{shapes_text(args, kwargs)} -> {shapes_text(out)}"
        print(f"{name}  {shapes}".rstrip())

    def __enter__(self) -> nn.Module:
        return self.model

    def __exit__(self, *_: object) -> None:
        self.hooks.close()


def shapes_text(*things: Any) -> str:
    """Write the shapes of all tensors in some things: "(2, 8), (2, 8)"."""
    return ", ".join(str(tuple(x.shape)) for x in tensors(things))


def tensors(thing: Any) -> Iterator[Tensor]:
    """Find the tensors in a thing, also in tuples, lists and dictionaries."""
    if isinstance(thing, Tensor):
        yield thing
    elif isinstance(thing, (dict, tuple, list)):
        for part in thing.values() if isinstance(thing, dict) else thing:
            yield from tensors(part)
