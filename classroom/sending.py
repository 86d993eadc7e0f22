"""Cases that are sent to the process that plays.

They come from us, so beside values they may have lists, functions and layers,
which go by their names. What comes back has none of these: `values` reads it.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from torch import nn

from classroom import stands
from classroom.cases import Case
from classroom.values import packed, unpacked


def written_case(case: Case) -> dict[str, Any]:
    """Write a case as JSON has it; what it is about stays here."""
    return {
        "args": [written(each) for each in case.args],
        "sizes": dict(case.sizes),
        "make": case.make and {k: written(x) for k, x in case.make.items()},
        "state": case.state and {k: packed(x) for k, x in case.state.items()},
        "within": case.within,
        "training": case.training,
    }


def read_case(data: Mapping[str, Any]) -> Case:
    """Read a case that was sent."""
    make, state = data["make"], data["state"]
    return Case(
        tuple(read(each) for each in data["args"]),
        data["sizes"],
        "",
        make if make is None else {k: read(x) for k, x in make.items()},
        state if state is None else {k: unpacked(x) for k, x in state.items()},
        data["within"],
        data["training"],
    )


def written(value: Any) -> Any:
    """Write an argument: a value, a list, or what has a name."""
    if isinstance(value, list):
        return {"list": [written(each) for each in value]}
    if isinstance(value, dict):
        return {"by name": [[k, written(x)] for k, x in value.items()]}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {
            f.name: written(getattr(value, f.name)) for f in fields(value)
        }
        return {"of": type(value).__name__, "parts": parts}
    if callable(value):
        return {"named": value.__name__}
    return packed(value)


def read(data: Any) -> Any:
    """Read what `written` wrote."""
    match data:
        case {"list": list(values)}:
            return [read(each) for each in values]
        case {"by name": list(pairs)}:
            return {key: read(x) for key, x in pairs}
        case {"of": str(name), "parts": dict(parts)}:
            return known(name)(**{k: read(x) for k, x in parts.items()})
        case {"named": str(name)}:
            return known(name)
    return unpacked(data)


def known(name: str) -> Any:
    """Find one of our stands, or a layer of PyTorch's."""
    return getattr(stands, name, None) or getattr(nn, name)
