"""Inputs: what a model is called with, by name, and at other sizes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from inspect import Parameter, signature
from typing import Any

import torch
from torch import Tensor, nn

from shapewatch.tracing.axes.sizes import Dims, Sizes, run_sizes
from shapewatch.tracing.record.models import ModelCall

A_STRING = 'Write the names of a tensor\'s axes as a string, "B T".'
# "B T" for each tensor in order, or by the names of parameters: {"ids": "B T",
# "past.key": "B T D"}.
Names = str | Sequence[str | None] | Mapping[str, str]


def resized_call(call: ModelCall, axes: Names, sizes: Sizes) -> ModelCall:
    """Give inputs and options other sizes, with values that they have
    already.

    `axes` names the axes of each input tensor, "B S", in a list; or of those
    that it names by a path of the parameter and what is in it, "past.key".
    A name that `sizes` lacks keeps its size. A tensor that comes twice is
    named once, and stays one.

    Raises ValueError where `axes` and the tensors do not match.
    """
    resized = {
        id(tensor): resize_tensor(tensor, names, sizes)
        for tensor, names in named_tensors(call.inputs, axes, tensors_in(call))
    }
    inputs = with_tensors(call.inputs, resized)
    options = with_tensors(call.options, resized)
    return call._replace(inputs=inputs, options=options)


def tensors_in(call: ModelCall) -> dict[str, Tensor]:
    """Give the tensors that a model is called with, by their paths."""
    named = named_inputs(call.model, call.inputs, call.options)
    return dict(tensor_paths(named))


def named_tensors(
    inputs: tuple, axes: Names, there: dict[str, Tensor]
) -> list[tuple[Tensor, list[str]]]:
    """Give the input tensors that have names, with those of their axes."""
    if isinstance(axes, Mapping):
        named = tensors_at(there, axes)
    else:
        named = tensors_in_order(inputs, axes, there)
    split_names = [(tensor, names.split()) for tensor, names in named]
    for tensor, names in split_names:
        if len(names) != tensor.ndim:
            raise ValueError(
                f"axes {' '.join(names)!r} name {len(names)} axes, and the "
                f"input {tuple(tensor.shape)} has {tensor.ndim}."
            )
    return split_names


def measured_dims(
    call: ModelCall, axes: Names | None, dims: Dims
) -> tuple[Dims, Sizes]:
    """Add the sizes that the named axes of the inputs have to `dims`, and
    give the size of each; ValueError where a name has two sizes. _ is no
    name."""
    tensors = {} if axes is None else tensors_in(call)
    named = [] if axes is None else named_tensors(call.inputs, axes, tensors)
    said = dict.fromkeys(dims, "dims say")
    measured: Dims = {}
    for x, name, size in each_axis(named):
        if name not in measured:
            said.setdefault(name, f"{tensor_text(x, tensors)} says")
            measured[name] = size
    if not measured.keys() <= dims.keys():
        dims = {**measured, **dims}
    sizes = run_sizes(dims)
    for x, name, size in each_axis(named):
        if size != sizes[name]:
            names = next(" ".join(names) for y, names in named if y is x)
            raise ValueError(
                f"{said[name]} {name}={sizes[name]}, and {name} of axes "
                f"{names!r} has size {size} in {tensor_text(x, tensors)}: "
                "one name has one size."
            )
    return dims, sizes


def each_axis(
    named: list[tuple[Tensor, list[str]]],
) -> Iterator[tuple[Tensor, str, int]]:
    """Give each axis that has a name, with its size."""
    for tensor, names in named:
        for name, size in zip(names, tensor.shape):
            if name != "_":
                yield tensor, name, size


def tensor_text(tensor: Tensor, there: dict[str, Tensor]) -> str:
    """Write the path of a tensor, and its shape."""
    path = next(path for path, x in there.items() if x is tensor)
    return f"{path} {tuple(tensor.shape)}"


def names_of_axes(axes: Names) -> list[str]:
    """List the names of all axes."""
    if isinstance(axes, str):
        return axes.split()
    texts = axes.values() if isinstance(axes, Mapping) else axes
    return " ".join(filter(None, texts)).split()


def tensors_at(there: dict[str, Tensor], axes: Mapping[str, str]) -> list:
    """Give the tensors that some paths lead to, with their axes' names."""
    first: dict[int, str] = {}
    for path, names in axes.items():
        if not isinstance(names, str):
            raise ValueError(f"axes: {path} is {names!r}. {A_STRING}")
        if path not in there:
            raise ValueError(
                f"axes: {path!r} is not a tensor. {given_text(there)}"
            )
        if first.setdefault(id(there[path]), names).split() != names.split():
            raise ValueError(
                f"axes: {path!r} is {names!r}, and the same tensor has other "
                "names elsewhere. Name it once, or give a copy of it."
            )
    return [(there[path], names) for path, names in axes.items()]


def tensors_in_order(inputs: tuple, axes: Any, there: dict) -> list:
    """Give the input tensors, with the names of their axes: those that stand
    alone, or all of them, where there are as many as names."""
    axes = [axes] if isinstance(axes, str) else axes
    if not all(isinstance(names, str | None) for names in axes):
        raise ValueError(f"{axes=}: {A_STRING}")
    alone = {id(x): x for x in inputs if isinstance(x, Tensor)}
    every = {id(x): x for x in there.values()}
    tensors = alone if len(axes) == len(alone) else every
    if len(axes) != len(tensors):
        raise ValueError(
            f"{axes=} must be a list with one string for each input tensor. "
            f"There are {len(alone)} (one that comes twice counts once). "
            "Those that are given by keyword, or within others, are named in "
            f'a dictionary, axes={{"ids": "B T"}}. {given_text(there)}'
        )
    named = zip(tensors.values(), axes)
    return [(x, names) for x, names in named if names is not None]


def given_text(there: dict[str, Tensor]) -> str:
    """Say which tensors a model is given."""
    shapes = (f"{path} {tuple(x.shape)}" for path, x in there.items())
    return f"It is given {', '.join(shapes) or 'no tensor'}."


def named_inputs(model: Callable, inputs: tuple, options: dict) -> dict:
    """Name what a model is given by its parameters, or by number where it
    has none that can be known."""
    try:
        asked = signature(getattr(model, "forward", model))
        named = dict(asked.bind(*inputs, **options).arguments)
    except (TypeError, ValueError):
        return {str(i): x for i, x in enumerate(inputs)} | options
    for name, parameter in asked.parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            named |= named.pop(name, {})
    return named


def tensor_paths(
    value: Any, path: str = "", above: tuple = ()
) -> Iterator[tuple[str, Tensor]]:
    """List the tensors in something, by the path that leads to each."""
    if isinstance(value, Tensor):
        yield path, value
    elif id(value) not in above:
        for name, part in contents(value).items():
            inner = f"{path}.{name}".lstrip(".")
            yield from tensor_paths(part, inner, (*above, id(value)))


def contents(value: Any) -> dict[str, Any]:
    """Take apart what holds others: a dictionary, a list, or an object of
    attributes that cannot be called."""
    if isinstance(value, Mapping):
        return {str(name): x for name, x in value.items()}
    if isinstance(value, list | tuple):
        numbers = map(str, range(len(value)))
        return dict(zip(getattr(value, "_fields", numbers), value))
    if isinstance(value, Tensor | type | nn.Module) or callable(value):
        return {}
    return dict(getattr(value, "__dict__", {}))


def with_tensors(
    value: Any, resized: dict[int, Tensor], above: tuple = ()
) -> Any:
    """Give something with other tensors in it: a copy, unless it has none
    that is another."""
    if isinstance(value, Tensor) or id(value) in above:
        return resized.get(id(value), value)
    parts, above = contents(value), (*above, id(value))
    copies = {n: with_tensors(x, resized, above) for n, x in parts.items()}
    changed = {n: x for n, x in copies.items() if x is not parts[n]}
    if not changed:
        return value
    if hasattr(value, "_replace"):
        return value._replace(**changed)
    if isinstance(value, list | tuple):
        return type(value)(copies.values())
    result = copy(value)
    for name, part in changed.items():
        if isinstance(value, Mapping):
            key = next(key for key in value if str(key) == name)
            result[key] = part
        else:
            object.__setattr__(result, name, part)
    return result


def resize_tensor(tensor: Tensor, axes: list[str], dims: Sizes) -> Tensor:
    """Take as many rows of each named axis as asked, in order: all of them,
    where there is room, and others drawn by a seed; or some of them. Of an
    axis that has none, zeros."""
    for axis, name in enumerate(axes):
        size = tensor.shape[axis]
        wanted = dims.get(name, size)
        if not size:
            shape = *tensor.shape[:axis], wanted, *tensor.shape[axis + 1 :]
            tensor, size = tensor.new_zeros(shape), wanted
        seed = torch.Generator().manual_seed(wanted)
        rows = torch.randperm(size, generator=seed)
        if wanted > size:
            more = torch.randint(size, (wanted - size,), generator=seed)
            rows = torch.cat([rows, more])
        rows = rows[:wanted].sort().values
        tensor = tensor.index_select(axis, rows.to(tensor.device))
    return tensor
