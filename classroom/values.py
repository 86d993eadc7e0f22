"""Values that go between the process that runs a student's code and ours.

What comes back is plain: `from_json` reads tensors, numbers, texts, tuples and
dicts, and refuses all else. Cases, which go out, come from us: beside values
they may have lists, stubs and layers, which go by their names.
"""

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn

from classroom import stubs
from classroom.cases import Case

LIMIT = 200_000  # numbers in one value: ours have some thousands
LARGE = 2**63  # no whole number of a tensor is as large
AXES = 16
DEPTH = 8
WHOLE = torch.bool, torch.int32, torch.int64
REAL = torch.float16, torch.bfloat16, torch.float32, torch.float64
DTYPES = {str(dtype): dtype for dtype in WHOLE + REAL}


@dataclass(frozen=True)
class Strange:
    """A value that no exercise asks for, by the name of its type."""

    type: str


def plain_value(value: Any, depth: int = DEPTH) -> Any:
    """Give a copy of a value in tensors of our own, numbers, texts, tuples
    and dicts; `Strange` for everything else."""
    try:
        return copy_value(value, depth)
    except Exception:  # a tensor or a list of a student's own making
        return Strange(type_name(value))


def copy_value(value: Any, depth: int) -> Any:
    """Copy what has a known type."""
    if isinstance(value, Tensor):
        return own_tensor(value)
    if type(value) is int and abs(value) >= LARGE:
        return Strange("int, and too large")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, tuple | list) and depth and len(value) <= LIMIT:
        return tuple(plain_value(each, depth - 1) for each in value)
    if type(value) is dict and depth and len(value) <= LIMIT:
        pairs = value.items()
        return {str(key): plain_value(x, depth - 1) for key, x in pairs}
    if hasattr(value, "tolist"):  # numpy's
        return plain_value(torch.as_tensor(value), depth)
    return Strange(type_name(value))


def own_tensor(value: Tensor) -> Tensor | Strange:
    """Copy a tensor to the CPU, dense, in one of four types."""
    strange = value.is_meta or value.is_complex() or value.ndim > AXES
    if value.numel() > LIMIT or strange:
        return Strange(f"{type_name(value)} of {value.dtype}")
    strided = value.layout == torch.strided
    dense = (value if strided else value.to_dense()).detach().cpu()
    dense = dense.as_subclass(Tensor)
    if str(dense.dtype) in DTYPES:
        return dense.clone().contiguous()
    return dense.double() if dense.is_floating_point() else dense.long()


def type_name(value: object) -> str:
    """Name a value's type."""
    return clean(getattr(type(value), "__name__", "object"), 60)


def clean(text: str, most: int) -> str:
    """Leave of a student's text what can be printed and stored anywhere, on
    one line and not too long."""
    encodable = text[: 4 * most].encode("utf8", "replace").decode("utf8")
    shown = "".join(c if c.isprintable() else " " for c in encodable)
    line = " ".join(shown.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def to_json(value: Any) -> Any:
    """Write a plain value, or a part of a case, as what JSON has."""
    if isinstance(value, Tensor):
        numbers, shape = value.flatten().tolist(), [*value.shape]
        if value.dtype == torch.float32:  # nine digits are all that it has
            short = torch.tensor([float(f"{x:.6g}") for x in numbers])
            exact = (short == value.flatten()).tolist()
            pairs = zip(exact, numbers)
            numbers = [float(f"{x:.{6 if e else 9}g}") for e, x in pairs]
        return {"tensor": numbers, "shape": shape, "dtype": str(value.dtype)}
    if isinstance(value, Strange):
        return {"strange": value.type}
    if isinstance(value, tuple | list):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [to_json(each) for each in value]}
    if isinstance(value, dict):
        return {"dict": [[k, to_json(x)] for k, x in value.items()]}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: to_json(vars(value)[f.name]) for f in fields(value)}
        return {"of": type(value).__name__, "parts": parts}
    return {"named": value.__name__} if callable(value) else value


def from_json(data: Any, depth: int = DEPTH) -> Any:
    """Read a plain value; ValueError for anything else, since it may come
    from a student's process."""
    match data:
        case int() if abs(data) >= LARGE:
            raise ValueError("a whole number that is too large")
        case None | bool() | int() | float() | str():
            return data
        case {"tensor": list(xs), "shape": list(shape), "dtype": str(dtype)}:
            return read_tensor(xs, shape, dtype)
        case {"tuple": list(values)} if depth:
            return tuple(from_json(each, depth - 1) for each in values)
        case {"dict": list(pairs)} if depth:
            return {str(k): from_json(x, depth - 1) for k, x in pairs}
        case {"strange": str(name)}:
            return Strange(clean(name, 60))
    raise ValueError(f"no value of an exercise: {str(data)[:60]}")


def read_tensor(numbers: list[Any], shape: list[Any], dtype: str) -> Tensor:
    """Make a tensor of a list of numbers, as long as its shape says."""
    good = all(type(n) is int and n >= 0 for n in shape) and dtype in DTYPES
    good = good and len(shape) <= AXES and len(numbers) <= LIMIT
    if not good or math.prod(shape) != len(numbers):
        raise ValueError(f"no tensor: {len(numbers)} numbers for {shape}")
    return torch.tensor(numbers, dtype=DTYPES[dtype]).view(shape)


def read_case(data: Any) -> Any:
    """Read a case, or a part of one, that we have sent."""
    match data:
        case {"list": list(values)}:
            return [read_case(each) for each in values]
        case {"tuple": list(values)}:
            return tuple(read_case(each) for each in values)
        case {"dict": list(pairs)}:
            return {key: read_case(x) for key, x in pairs}
        case {"of": str(name), "parts": dict(parts)}:
            fields_read = {key: read_case(x) for key, x in parts.items()}
            return find_by_name(name)(**fields_read)
        case {"named": str(name)}:
            return find_by_name(name)
    return from_json(data)


def find_by_name(name: str) -> Any:
    """Find one of our stubs, or a layer of PyTorch's."""
    if name == Case.__name__:
        return Case
    return getattr(stubs, name, None) or getattr(nn, name)
