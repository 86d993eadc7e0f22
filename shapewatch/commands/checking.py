"""The command `check`: a report on a model of one's own."""

import sys
from argparse import Namespace
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from shapewatch.properties import Report, report
from shapewatch.properties.reporting import reader_line
from shapewatch.properties.subject import error_line

FORMS = "give module:factory, or path/to/file.py:factory"
MAIN = "let it run only under if __name__ == '__main__'"
GIVES = "a factory gives (model, inputs): a tensor, several, or a dictionary"


class MissingError(ValueError):
    """A name that leads to no file, or to no module."""


def run_check(args: Namespace) -> int:
    """Check a model for what holds for every right one: causality, padding,
    order, gradients and more. A factory gives the model, and what it reads.
    The exit code is 1 when something is broken."""
    seen = report_on(args, *call_factory(args.factory))
    if args.json != "-":
        print(seen, flush=True)
    if args.json:
        write_text(args.json, seen.to_json(), "Report")
    return int(not seen.ok)


def report_on(args: Namespace, model: Any, inputs: tuple) -> Report:
    """Ask all checks about a model, with the options that were typed."""
    options = {
        "pad": args.pad,
        "unknown": args.unknown,
        "causal": not args.no_causal,
        "positions": args.positions,
        "output": args.output,
        "loss": args.loss and loss_of(args.loss, args.factory),
        "expect": dict(map(reason, args.expect or [])),
    }
    try:
        return report(model, *inputs, **options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{args.factory}: {error}; {GIVES}") from error


def loss_of(name: str, factory: str) -> Any:
    """Import a loss: by its name alone, from where the factory is."""
    place = factory.rpartition(":")[0]
    return import_factory(name if ":" in name else f"{place}:{name}")


def write_text(file: str, text: str, what: str) -> None:
    """Write a text into a file, and say so; `-` is the screen."""
    if file == "-":
        print(text, flush=True)
        return
    path = Path(file)
    if not path.parent.exists():
        path.parent.mkdir(parents=True)
    path.write_text(text, "utf8")
    print(f"{what} saved to {file}", flush=True)


def reason(text: str) -> tuple[str, str]:
    """Read the name of a check and why it may find something."""
    name, sign, why = text.partition("=")
    if not sign or not why:
        raise ValueError(f"--expect {text!r}: write name=reason")
    return name, why


def call_factory(target: str) -> tuple[Any, tuple]:
    """Call a factory: the model, and its inputs."""
    factory = import_factory(target)
    try:
        whole = isinstance(factory, nn.Module)
        result = factory if whole else factory()
    except Exception as error:
        says = f"{target} fails: {error_with_line(error)}"
        raise ValueError(says) from error
    model, *inputs = result if isinstance(result, (tuple, list)) else [result]
    if not callable(model):
        kind = type(model).__name__
        raise ValueError(f"{target} gave {kind}, and no model: {GIVES}")
    if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)):
        return model, tuple(inputs[0])
    return model, tuple(inputs)


def import_factory(target: str) -> Any:
    """Import a factory by its name."""
    place, _, name = target.rpartition(":")
    if not place or not name.isidentifier():
        raise ValueError(f"{target!r} names no factory: {FORMS}")
    load = from_file if place.endswith(".py") else from_module
    try:
        module = load(place)
    except MissingError:
        raise
    except SystemExit as stop:
        raise ValueError(f"{place} ends the program: {MAIN}") from stop
    except Exception as error:
        raise ValueError(f"{place} fails: {error_with_line(error)}") from error
    if not callable(thing := getattr(module, name, None)):
        public = [x for x in own_names(module) if not x.startswith("_")]
        there = ", ".join(public) or "no function"
        raise ValueError(f"{place} has no function {name!r}; it has {there}")
    return thing


def own_names(module: ModuleType) -> list[str]:
    """Name what a module itself defines, and can be called."""
    return [
        name
        for name, x in vars(module).items()
        if callable(x) and getattr(x, "__module__", "") == module.__name__
    ]


def from_file(place: str) -> ModuleType:
    """Run a file, once, as a module that imports what stands beside it."""
    path = Path(place).resolve()
    if not path.is_file():
        raise MissingError(f"there is no file {path}")
    known: Any = sys.modules.get(path.stem)
    if getattr(known, "__file__", "") == str(path):
        return known
    sys.path.insert(0, str(path.parent))
    spec: Any = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def from_module(place: str) -> ModuleType:
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
