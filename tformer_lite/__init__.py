"""A small Transformer, and tools that show the shape of every step in it.

All names in `public.py` can be imported from here.
"""

import ast
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tformer_lite.public import *  # noqa: F403

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Find a room, or a public name, when it is asked for: the command line
    answers before PyTorch is there, and the model needs no matplotlib."""
    if not name.startswith("_") and find_spec(f"{__name__}.{name}"):
        return import_module(f"{__name__}.{name}")
    if name == "__all__":
        return sorted(public_names())
    if name in public_names():
        return getattr(import_module(public_names()[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def public_names() -> dict[str, str]:
    """Read each public name in `public.py`, and the file it is from."""
    text = Path(__file__).with_name("public.py").read_text(encoding="utf-8")
    return {
        alias.name: str(node.module)
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def __dir__() -> list[str]:
    """List the public names, those not yet imported too."""
    return sorted({*globals(), *public_names()})
