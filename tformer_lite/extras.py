"""Optional libraries: the one that is asked for, or how to get it."""

from importlib import import_module
from types import ModuleType

# What needs a library, and which extra of ours brings it.
NEEDS = {
    "tokenizers": ("WordPiece and BERT need", "bert"),
    "transformers": ("WordPiece and BERT need", "bert"),
}
BRINGS = {"bert": "transformers tokenizers"}


def library(name: str) -> ModuleType:
    """Import a library of an extra, or a module of it; ImportError says how
    to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        top = name.partition(".")[0]
        need, extra = NEEDS[top]
        raise ImportError(
            f"{need} the library {top}, which is missing: run pip install "
            f"{BRINGS[extra]}, or in a copy of this project, "
            f"pip install ./shapewatch .[{extra}]."
        ) from error
