"""A small Transformer, and tools that show the shape of every step in it.

All names in `public.py` can be imported from here.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tformer_lite.public import *  # noqa: F403

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Find a room, or a public name, when it is asked for: the command line
    answers before PyTorch is there."""
    if not name.startswith("_") and find_spec(f"{__name__}.{name}"):
        return import_module(f"{__name__}.{name}")
    if name == "__all__":
        return sorted(public_names())
    if name in public_names():
        return public_names()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def public_names() -> dict[str, Any]:
    """Give each public name and what it stands for."""
    names = vars(import_module("tformer_lite.public")).items()
    return {name: thing for name, thing in names if name[0] != "_"}


def __dir__() -> list[str]:
    """List the public names, those not yet imported too."""
    return sorted({*globals(), *public_names()})
