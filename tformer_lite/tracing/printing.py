"""Live printing: forward hooks that print each module's shapes."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from tformer_lite.tracing.marks import tensors


@contextmanager
def print_shapes(model: nn.Module) -> Iterator[nn.Module]:
    """Print the shapes in and out of every module while the model runs.

    Use it in a `with` statement; one line a module, as each finishes, so
    the parts come before the whole. The hooks are removed at the end,
    whatever happened.
    """
    paths = {module: path for path, module in model.named_modules()}
    width = max(len(label(*item)) for item in paths.items())

    def show(module, args, kwargs, output):
        name = label(module, paths[module]).ljust(width)
        inputs = (*args, *kwargs.values())
        print(f"{name}  {shapes(inputs)} -> {shapes(output)}")

    hooks = [
        module.register_forward_hook(show, with_kwargs=True)
        for module in paths
    ]
    try:
        yield model
    finally:
        for hook in hooks:
            hook.remove()


def label(module: nn.Module, path: str) -> str:
    """Name a module: its path, when it has one, and its class."""
    return f"{path} {type(module).__name__}".strip()


def shapes(value) -> str:
    """Write the shape of every tensor in a value, in order."""
    return ", ".join(str(tuple(x.shape)) for x in tensors(value))
