"""Factories: functions of the reader's, named in a shell, that give a model
and its inputs."""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from shapewatch.properties.outputs import error_line
from shapewatch.properties.reporting import reader_line

FORMS = "give module:factory, or path/to/file.py:factory"
MAIN = "let it run only under if __name__ == '__main__'"
GIVES = "a factory gives (model, inputs): a tensor, several, or a dictionary"


class MissingError(ValueError):
    """A name that leads to no file, or to no module."""


def call_factory(target: str) -> tuple[Any, tuple]:
    """Call a factory: the model, and its inputs."""
    factory = import_factory(target)
    try:
        result = factory()
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


def import_factory(target: str) -> Any:
    """Import a factory by its name."""
    place, _, name = target.rpartition(":")
    if not place or not name.isidentifier():
        raise ValueError(f"{target!r} names no factory: {FORMS}")
    load = file_module if place.endswith(".py") else named_module
    try:
        module = load(place)
    except MissingError:
        raise
    except SystemExit as stop:
        raise ValueError(f"{place} ends the program: {MAIN}") from stop
    except Exception as error:
        raise ValueError(f"{place} fails: {error_with_line(error)}") from error
    if not callable(factory := getattr(module, name, None)):
        there = ", ".join(public_names(module)) or "no function"
        raise ValueError(f"{place} has no function {name!r}; it has {there}")
    return factory


def public_names(module: ModuleType) -> list[str]:
    """Name what a module itself defines, and can be called."""
    return [
        name
        for name, x in vars(module).items()
        if callable(x) and getattr(x, "__module__", "") == module.__name__
        if not name.startswith("_")
    ]


def file_module(place: str) -> ModuleType:
    """Run a file as a module that imports what stands beside it."""
    path = Path(place).resolve()
    if not path.is_file():
        raise MissingError(f"there is no file {path}")
    sys.path.insert(0, str(path.parent))
    spec: Any = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def named_module(place: str) -> ModuleType:
    """Import a module, from the current folder first."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(place)
    except ModuleNotFoundError as error:
        if error.name and f"{place}.".startswith(f"{error.name}."):
            says = f"there is no module {error.name!r} in {here}, nor is one "
            raise MissingError(f"{says}installed; {FORMS}") from error
        raise


def error_with_line(error: Exception) -> str:
    """Say what went wrong, and at which line."""
    return f"{error_line(error)}{reader_line(error.__traceback__)}"
