"""What comes out of a student's code, as plain values that can be sent."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

LIMIT = 200_000  # numbers in one value: ours have some thousands
LARGE = 2**63  # no whole number of a tensor is as large
AXES = 16
DEPTH = 8
KINDS = {
    str(kind): kind
    for kind in (
        *(torch.bool, torch.int32, torch.int64),
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    )
}


@dataclass(frozen=True)
class Strange:
    """A value that no exercise asks for, by the name of its type."""

    type: str


def plain(value: Any, depth: int = DEPTH) -> Any:
    """Give a copy of a value in tensors of our own, numbers, texts, tuples
    and dicts; `Strange` for everything else."""
    try:
        return copied(value, depth)
    except Exception:  # a tensor or a list of a student's own making
        return Strange(type_name(value))


def copied(value: Any, depth: int) -> Any:
    """Copy what has a known type."""
    if isinstance(value, Tensor):
        return own_tensor(value)
    if type(value) is int and abs(value) >= LARGE:
        return Strange("int, and too large")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, tuple | list) and depth and len(value) <= LIMIT:
        return tuple(plain(each, depth - 1) for each in value)
    if type(value) is dict and depth and len(value) <= LIMIT:
        return {str(key): plain(x, depth - 1) for key, x in value.items()}
    if hasattr(value, "tolist"):  # numpy's
        return plain(torch.as_tensor(value), depth)
    return Strange(type_name(value))


def own_tensor(value: Tensor) -> Tensor | Strange:
    """Copy a tensor to the CPU, dense, in one of four types."""
    strange = value.is_meta or value.is_complex() or value.ndim > AXES
    if value.numel() > LIMIT or strange:
        return Strange(f"{type_name(value)} of {value.dtype}")
    strided = value.layout == torch.strided
    dense = (value if strided else value.to_dense()).detach().cpu()
    dense = dense.as_subclass(Tensor)
    if str(dense.dtype) in KINDS:
        return dense.clone().contiguous()
    return dense.double() if dense.is_floating_point() else dense.long()


def type_name(value: object) -> str:
    """Name a value's type."""
    return clean(getattr(type(value), "__name__", "object"), 60)


def clean(text: str, most: int) -> str:
    """Leave of a student's text what can be printed and stored anywhere, on
    one line and not too long."""
    known = text[: 4 * most].encode("utf8", "replace").decode("utf8")
    line = " ".join(
        "".join(c if c.isprintable() else " " for c in known).split()
    )
    return line if len(line) <= most else f"{line[: most - 1]}…"


def packed(value: Any) -> Any:
    """Write a plain value as what JSON has."""
    if isinstance(value, Tensor):
        numbers = value.flatten().tolist()
        return {"tensor": numbers, "shape": [*value.shape]} | {
            "dtype": str(value.dtype)
        }
    if isinstance(value, tuple):
        return {"tuple": [packed(each) for each in value]}
    if isinstance(value, dict):
        return {"dict": [[k, packed(x)] for k, x in value.items()]}
    if isinstance(value, Strange):
        return {"strange": value.type}
    return value


def unpacked(data: Any, depth: int = DEPTH) -> Any:
    """Read what `packed` wrote; ValueError for anything else, since it may
    come from a student's process."""
    match data:
        case int() if abs(data) >= LARGE:
            raise ValueError("a whole number that is too large")
        case None | bool() | int() | float() | str():
            return data
        case {"tensor": list(xs), "shape": list(shape), "dtype": str(dtype)}:
            return read_tensor(xs, shape, dtype)
        case {"tuple": list(values)} if depth:
            return tuple(unpacked(each, depth - 1) for each in values)
        case {"dict": list(pairs)} if depth:
            return {str(k): unpacked(x, depth - 1) for k, x in pairs}
        case {"strange": str(name)}:
            return Strange(clean(name, 60))
    raise ValueError(f"no value of an exercise: {str(data)[:60]}")


def read_tensor(numbers: list[Any], shape: list[Any], dtype: str) -> Tensor:
    """Make a tensor of a list of numbers, as long as its shape says."""
    good = all(type(n) is int and n >= 0 for n in shape) and dtype in KINDS
    good = good and len(shape) <= AXES and len(numbers) <= LIMIT
    if not good or math.prod(shape) != len(numbers):
        raise ValueError(f"no tensor: {len(numbers)} numbers for {shape}")
    return torch.tensor(numbers, dtype=KINDS[dtype]).view(shape)
