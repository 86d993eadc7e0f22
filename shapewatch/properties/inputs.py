"""Inputs: what a model is given, by place or by name, in a row; and which of
it are sequences of words."""

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import SequenceMatcher
from inspect import Parameter, Signature, signature
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import (
    MappingKey,
    SequenceKey,
    TreeSpec,
    tree_flatten_with_path,
)

from shapewatch.tracing.record.tensors import tensors

ID = int, "an id, such as 0"
OPTIONS: dict[str, tuple[Any, str]] = {
    "pad": ID,
    "unknown": ID,
    "causal": (int, "True or False"),
    "positions": (int, "a whole number"),
    "output": (str | Callable, "a name or a function"),
    "loss": (Callable, "a function"),
}
UNK, PAD = 0, 1  # the ids of [UNK]: the second where padding has the first
SEQUENCE = re.compile("ids|src|tgt|source|target|tokens|words|^[xy]$")
NO_SEQUENCE = re.compile("mask|type|segment|position|pos_|_pos|label")


def no_inputs(given: tuple) -> str:
    """Say what inputs are, where none is given that a check could change."""
    kinds = ", ".join(type(x).__name__ for x in given)
    if not kinds:
        return "give the model's inputs, too: report(model, ids)"
    return f"inputs are tensors, such as ids (B, T), and not: {kinds}"


def refuse_options(**options: Any) -> None:
    """Raise TypeError for an option that is of another type than it takes,
    and ValueError for less than two positions."""
    for name, value in options.items():
        kind, what = OPTIONS[name]
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{name}={value!r} is not {what}")
    if (positions := options["positions"]) < 2:
        says = f"{positions=} is too few: the first and the last are two"
        raise ValueError(says)


def own_ids(
    model: Callable, pad: int | None, unknown: int | None
) -> tuple[int | None, int | None]:
    """Give the ids of [PAD] and [UNK]: the model's, unless they are said."""
    config = getattr(model, "config", None)
    model_pad = getattr(config, "pad", getattr(model, "pad", None))
    if pad is None and isinstance(model_pad, int):  # and no module
        pad = model_pad
    if unknown is None and hasattr(config, "pad"):
        unknown = UNK if pad != UNK else PAD
    return pad, unknown


def is_id(x: Tensor, wanted: int | None) -> Tensor:
    """Which positions have an id: (B, T). No vector has one."""
    if x.is_floating_point() or wanted is None:
        return torch.zeros(x.shape[:2], dtype=torch.bool)
    return x == wanted


def inputs_in_order(
    model: Any, inputs: tuple, named: Mapping[str, Any]
) -> tuple[tuple, list[str], TreeSpec | None]:
    """Put all that a model is given in a row, name each, and tell in which
    form the model is handed it; None where that is by place."""
    refuse_typos(model, named)
    if len(inputs) == 1 and isinstance(inputs[0], Mapping):
        every, asked = {**inputs[0], **named}, parameters_of(model) or {}
        if accepts_names(model, every) or asked.keys() & inputs[0].keys():
            inputs, named = (), every
    refuse_call(model, inputs, named)
    inputs = tuple(dict(x) if isinstance(x, Mapping) else x for x in inputs)
    if not named and not any(isinstance(x, dict) for x in inputs):
        return inputs, parameter_names(model, len(inputs)), None
    order = [*(parameters_of(model) or ()), *named]
    sorted_ones = dict(sorted(named.items(), key=lambda x: order.index(x[0])))
    leaves, form = tree_flatten_with_path((inputs, sorted_ones))
    places = parameter_names(model, len(inputs))
    names = [name_of_leaf(path, places) for path, _ in leaves]
    return tuple(leaf for _, leaf in leaves), names, form


def parameters_of(model: Callable) -> Mapping[str, Parameter] | None:
    """Give the parameters of a model; None where nobody says."""
    try:
        return signature(getattr(model, "forward", model)).parameters
    except (TypeError, ValueError):
        return None


def optional_inputs(model: Callable) -> dict[str, Any]:
    """Name the optional inputs of a model, with what they are else."""
    asked = (parameters_of(model) or {}).items()
    pairs = ((name, parameter.default) for name, parameter in asked)
    return {name: x for name, x in pairs if x is not Parameter.empty}


def accepts_names(model: Callable, named: Mapping[str, Any]) -> bool:
    """Whether a model may be called with these names."""
    return not call_fault(model, (), named)


def call_fault(model: Callable, inputs: tuple, named: Mapping) -> str:
    """Say why a model cannot be called so; or "", also where nobody knows."""
    asked = parameters_of(model)
    try:
        if asked is not None:
            Signature([*asked.values()]).bind(*inputs, **named)
    except TypeError as error:
        return str(error)
    return ""


def refuse_call(model: Callable, inputs: tuple, named: Mapping) -> None:
    """Raise TypeError for inputs that a model does not take."""
    if not callable(model):
        raise TypeError(f"a model is a module or a function, not {model!r}")
    asked = parameters_of(model)
    if asked is None or not (inputs or named):
        return
    kinds = {parameter.kind for parameter in asked.values()}
    unknown = [name for name in named if name not in asked]
    if unknown and Parameter.VAR_KEYWORD not in kinds:
        raise TypeError(
            f"{unknown[0]!r} is neither an option here nor an input of the "
            f"model, which has {', '.join(asked) or 'none'}"
        )
    if fault := call_fault(model, inputs, named):
        says = f"{fault}: the model's inputs are {', '.join(asked) or 'none'}"
        raise TypeError(says)


def refuse_typos(model: Callable, named: Mapping[str, Any]) -> None:
    """Raise TypeError for a name that is nearly an option's."""
    for name in named.keys() - (parameters_of(model) or {}).keys():
        for option in (*OPTIONS, "expect"):
            alike = SequenceMatcher(None, name, option).ratio() > 0.9
            if alike or sorted(name) == sorted(option):
                raise TypeError(
                    f"{name!r}: is {option!r} meant? If not, give the "
                    f"model's inputs in a dictionary: {{{name!r}: ...}}"
                )


def name_of_leaf(path: Iterable[Any], parameters: list[str]) -> str:
    """Name an input by its key, or by the parameter it is handed to."""
    names = [str(key.key) for key in path if isinstance(key, MappingKey)]
    places = [key.idx for key in path if isinstance(key, SequenceKey)]
    return names[-1] if names else parameters[places[1]]


def sequences(given: tuple, names: list[str]) -> list[int]:
    """Tell which inputs are sequences: ids or vectors, and no masks, kinds
    of tokens, or numbers of positions. Where none is, all that have two axes
    or more; where none has, all tensors."""
    if len(given) == 1:
        return [0]
    every = [i for i, x in enumerate(given) if isinstance(x, Tensor)]
    words = [i for i in every if is_sequence(given[i], names[i])]
    wide = [i for i in every if given[i].ndim > 1]
    usual = [i for i in wide if not NO_SEQUENCE.search(names[i])]
    return words or usual or wide or every


def refuse_numberless(model: Any, inputs: Iterable[Any]) -> None:
    """Raise ValueError for inputs and weights that have no numbers, and for a
    model that rounds them by what else is there."""
    for name, x in getattr(model, "named_parameters", dict)():
        if x.is_meta:
            raise ValueError(
                f"the weight {name} is on meta and holds no numbers to check: "
                "load the weights, or look at shapes alone, with trace"
            )
    for x in tensors([*inputs]):
        if x.is_meta or not x.numel():
            raise ValueError(
                f"an input {tuple(x.shape)} on {x.device} holds no numbers: "
                "give rows of words, on a device that holds some"
            )
    for part in getattr(model, "modules", list)():
        if type(part).__module__.startswith("torch.ao.nn.quantized"):
            raise ValueError(
                f"a quantised {type(part).__name__} rounds according to the "
                "rest of the batch and has no gradients: check the model that "
                "it was made from"
            )


def parameter_names(model: Callable, count: int) -> list[str]:
    """Name what a model's inputs are handed to; "" where nobody says."""
    kinds = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
    asked = parameters_of(model) or {}
    names = [name for name, x in asked.items() if x.kind in kinds]
    return (names + [""] * count)[:count]


def is_sequence(x: Any, name: str) -> bool:
    """Whether an input is ids (B, T) or vectors (B, T, C)."""
    if not isinstance(x, Tensor) or x.dtype == torch.bool or x.is_meta:
        return False
    if x.ndim not in (2, 3) or not x.numel() or NO_SEQUENCE.search(name):
        return False
    if x.is_floating_point():
        return x.ndim == 3 and bool(x.isfinite().all() and x.max() > 0)
    steps = x.diff(dim=1).abs()
    counted = bool(steps.numel() and steps.max() <= 1 and x[:, 0].max() <= 1)
    return x.ndim == 2 and (not counted or bool(SEQUENCE.search(name)))
