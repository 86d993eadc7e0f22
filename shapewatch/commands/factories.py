"""Factories: functions of the reader's, named in a shell, that give a model
and its inputs."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from shapewatch.properties.outputs import error_line
from shapewatch.properties.reporting import reader_line

FORMS = "give module:factory, or path/to/file.py:factory"
MAIN = "let it run only under if __name__ == '__main__'"
GIVES = "a factory gives (model, inputs): a tensor, several, or a dictionary"


def call_factory(target: str) -> tuple[Any, tuple]:
    """Call a factory by its name: the model, and its inputs."""
    place, _, name = target.rpartition(":")
    if not place:
        raise ValueError(f"{target!r} names no factory: {FORMS}")
    try:
        result = getattr(load_module(place), name)()
    except SystemExit as stop:
        raise ValueError(f"{place} ends the program: {MAIN}") from stop
    except Exception as error:
        says = f"{target} fails: {error_with_line(error)}"
        raise ValueError(says) from error
    model, *inputs = result if isinstance(result, (tuple, list)) else [result]
    if not callable(model):
        kind = type(model).__name__
        raise ValueError(f"{target} gave {kind}, not a model: {GIVES}")
    if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)):
        return model, tuple(inputs[0])
    return model, tuple(inputs)


def load_module(place: str) -> ModuleType:
    """Import a module, or run a file as one that imports what is beside it."""
    if not place.endswith(".py"):
        __import__(place)
        return sys.modules[place]
    path = Path(place).resolve()
    sys.path.insert(0, str(path.parent))
    spec: Any = spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def error_with_line(error: Exception) -> str:
    """Say what went wrong, and at which line."""
    return f"{error_line(error)}{reader_line(error.__traceback__)}"
