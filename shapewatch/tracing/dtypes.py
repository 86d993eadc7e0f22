"""Data types and devices: what is said of them, and only where they change."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

DtypeDevice = tuple[str, str]  # a data type and a device: "float32", "cpu"
CallKinds = tuple[
    list[DtypeDevice], list[DtypeDevice]
]  # those that a call reads, and makes


def kinds_of(found: Iterable[Any]) -> list[DtypeDevice]:
    """Name the data types and devices of tensors, or of their marks."""
    return [dtype_device(one.dtype, one.device) for one in found]


@cache
def dtype_device(dtype: object, device: object) -> DtypeDevice:
    """Name a data type and a device."""
    return str(dtype).removeprefix("torch."), str(device)


def usual_kind(kinds: Iterable[DtypeDevice]) -> DtypeDevice:
    """Give the kind that most tensors are of; ("", "") where none is."""
    most = Counter(kinds).most_common(1)
    return most[0][0] if most else ("", "")


def new_kinds(calls: Sequence[CallKinds]) -> list[tuple[str, ...]]:
    """Say of what each call makes how it differs from all that it reads; of
    a call that reads nothing, from what is usual in the run."""
    usual = usual_kind(kind for _, makes in calls for kind in makes)
    return [
        tuple(kind_text(kind, reads or [usual]) for kind in makes)
        for reads, makes in calls
    ]


def kind_text(kind: DtypeDevice, known: Iterable[DtypeDevice]) -> str:
    """Say what is new in a kind: "bool", "on cuda:0", both, or ""."""
    dtypes, devices = map(set, zip(*known))
    dtype, device = kind
    found = [] if dtype in dtypes else [dtype]
    return " ".join(found if device in devices else [*found, f"on {device}"])
