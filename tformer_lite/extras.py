"""Optional libraries: the one that is asked for, or how to get it."""

from importlib import import_module
from types import ModuleType


def library(name: str) -> ModuleType:
    """Import a library of BERT, or a module of it; ImportError says how to
    get it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"WordPiece and BERT need the library {name.partition('.')[0]}, "
            "which is missing: run pip install transformers tokenizers, or in "
            "a copy of this project, pip install ./shapewatch .[bert]."
        ) from error
