"""What a model is given, by place or by name; which of it are sequences; and
the tensor that is judged, in what it gives."""

import re
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from difflib import SequenceMatcher
from functools import partial
from inspect import Parameter, Signature, signature
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import (
    MappingKey,
    SequenceKey,
    TreeSpec,
    tree_flatten_with_path,
    tree_unflatten,
)

from shapewatch.tracing.record.tensors import tensors

Pick = str | Callable[[Any], Tensor] | None


class NotJudgedError(Exception):
    """A check has nothing to judge; the message says why."""


class FailedError(Exception):
    """The model could not be run; the message says how it failed."""


def output(result: Any, rows: Any = None) -> Tensor:
    """Find the tensor in what a model gave: its `logits`, the first that has
    vectors for the positions of `rows`, or the first."""
    found = tensors(getattr(result, "logits", result))
    if not found:
        raise FailedError(f"It gave {type(result).__name__}, and no tensor.")
    shape = getattr(rows, "shape", ())[:2]
    fit = (x for x in found if x.ndim > 2 and x.shape[:2] == shape)
    return next(fit, found[0])


def select_output(pick: Pick, result: Any, rows: Any = None) -> Tensor:
    """Take the tensor that a name or a function picks of what a model gave;
    FailedError says what there is. Without a pick, see `output`."""
    if pick is None:
        return output(result, rows)
    if not isinstance(pick, str):
        found, what = pick(result), "What output= picks"
    elif pick in (parts := named_parts(result)):
        found, what = parts[pick], f"{pick!r}"
    else:
        raise FailedError(f"There is no {pick!r}. {gave_text(result)}")
    if isinstance(found, Tensor):
        return found
    kind = type(found).__name__
    raise FailedError(f"{what} is {kind}, and no tensor. {gave_text(result)}")


def for_positions(made: Tensor, rows: Tensor) -> Tensor:
    """Give each position of `rows` what a pooled model made of all of them:
    (B) or (B, K) -> (B, T, K). With K = T there might be a number for each
    position: that stays. An image has no positions yet."""
    of_rows = made.ndim in (1, 2) and len(made) == len(rows)
    if not of_rows or rows.ndim not in (2, 3):
        return made
    flat = made.reshape(len(made), -1)
    if flat.shape[1] == rows.shape[1]:
        return made
    return flat[:, None].expand(-1, rows.shape[1], -1)


def named_parts(result: Any) -> dict[str, Any]:
    """Give what has a name in what a model gave."""
    if isinstance(result, Mapping):
        return {str(name): part for name, part in result.items()}
    fields = getattr(result, "_fields", getattr(result, "__dict__", {}))
    plain = isinstance(result, Tensor)
    return {} if plain else {name: getattr(result, name) for name in fields}


def gave_text(result: Any) -> str:
    """Say what a model gave."""
    names = [name for name, x in named_parts(result).items() if x is not None]
    if names:
        return f"The model gave {', '.join(names)}."
    if isinstance(result, Tensor):
        return f"The model gave one tensor {tuple(result.shape)}."
    if isinstance(result, (tuple, list)):
        kinds = ", ".join(type(x).__name__ for x in result)
        return f"The model gave {kinds}: pick with output=lambda y: y[0]."
    return f"The model gave {type(result).__name__}."


def error_line(error: Exception) -> str:
    """Say in one line what went wrong."""
    if isinstance(error, FailedError):
        return str(error)
    first = str(error).split("\n")[0]
    return f"{type(error).__name__}: {first[:150]}"


OPTION_NAMES = (
    "pad",
    "unknown",
    "causal",
    "positions",
    "output",
    "expect",
    "loss",
)
SEQUENCE = re.compile("ids|src|tgt|source|target|tokens|words|^[xy]$")
NO_SEQUENCE = re.compile("mask|type|segment|position|pos_|_pos|label")


def by_place(
    model: Any, inputs: tuple, named: Mapping[str, Any]
) -> tuple[Any, tuple, list[str]]:
    """Make of a model that is given inputs by name, or in dictionaries, one
    that is given the same by place: it, its inputs, and their names."""
    refuse_typos(model, named)
    if len(inputs) == 1 and isinstance(inputs[0], Mapping):
        every = {**inputs[0], **named}
        if accepts_names(model, every):
            inputs, named = (), every
    inputs = tuple(as_dict(x) for x in inputs)
    if not named and not any(isinstance(x, dict) for x in inputs):
        return model, inputs, parameter_names(model, len(inputs))
    refuse_unknown(model, inputs, named)
    sorted_ones = dict(sorted(named.items(), key=partial(place_of, model)))
    found, form = tree_flatten_with_path((inputs, sorted_ones))
    known = parameter_names(model, len(inputs))
    names = [name_of_leaf(path, known) for path, _ in found]
    called = called_by_place(model, form)
    return called, tuple(leaf for _, leaf in found), names


def as_dict(x: Any) -> Any:
    """Make a dictionary of what is like one, such as a tokenizer's batch."""
    return dict(x) if isinstance(x, Mapping) else x


def parameters_of(model: Callable) -> Mapping[str, Parameter] | None:
    """Give the parameters of a model; None where nobody says."""
    try:
        return signature(getattr(model, "forward", model)).parameters
    except (TypeError, ValueError):
        return None


def optional_inputs(model: Callable) -> dict[str, Any]:
    """Name the optional inputs of a model, with what they are else."""
    pairs = (
        (name, one.default)
        for name, one in (parameters_of(model) or {}).items()
    )
    return {name: x for name, x in pairs if x is not Parameter.empty}


def accepts_names(model: Callable, named: Mapping[str, Any]) -> bool:
    """Whether a model may be called with these names."""
    asked = parameters_of(model)
    if asked is None:
        return True
    try:
        Signature([*asked.values()]).bind(**named)
    except TypeError:
        return False
    return True


def refuse_unknown(
    model: Callable, inputs: tuple, named: Mapping[str, Any]
) -> None:
    """Raise TypeError for a name that a model has no input for."""
    asked = parameters_of(model)
    if asked is None:
        return
    kinds = {one.kind for one in asked.values()}
    unknown = [name for name in named if name not in asked]
    if unknown and Parameter.VAR_KEYWORD not in kinds:
        raise TypeError(
            f"{unknown[0]!r} is no option here, and no input of the model, "
            f"which has {', '.join(asked) or 'none'}"
        )


def refuse_typos(model: Callable, named: Mapping[str, Any]) -> None:
    """Raise TypeError for a name that is nearly an option's, of a model that
    takes any name."""
    for name in named.keys() - (parameters_of(model) or {}).keys():
        for option in OPTION_NAMES:
            alike = SequenceMatcher(None, name, option).ratio() > 0.9
            if alike or sorted(name) == sorted(option):
                raise TypeError(
                    f"{name!r}: is {option!r} meant? If not, give the "
                    f"model's inputs in a dictionary: {{{name!r}: ...}}"
                )


def place_of(model: Callable, item: tuple[str, Any]) -> int:
    """Tell where among a model's parameters a named input stands."""
    names = [*(parameters_of(model) or ())]
    return names.index(item[0]) if item[0] in names else len(names)


def name_of_leaf(path: Iterable[Any], known: list[str]) -> str:
    """Name an input by its key, or by the parameter it is handed to."""
    names = [str(key.key) for key in path if isinstance(key, MappingKey)]
    places = [key.idx for key in path if isinstance(key, SequenceKey)]
    return names[-1] if names else known[places[1]]


def called_by_place(model: Any, form: TreeSpec) -> Any:
    """Let a model be called with all of its inputs by place. A module keeps
    its parts, and so their paths: it is a copy that shares them; but for one
    that is compiled, or has a `forward` of its own, which stands in another.
    """
    if not isinstance(model, nn.Module):
        return partial(call_by_name, model, form)
    if isinstance(model, torch.jit.ScriptModule) or "forward" in vars(model):
        return Outer(model, form)
    called: Any = copy(model)
    kind = type(model)
    body = {"form": form, "forward": forward_of(kind)}
    called.__class__ = type(kind.__name__, (kind,), body)
    return called


class Outer(nn.Module):
    """Calls a module by name that is given its inputs by place."""

    def __init__(self, model: nn.Module, form: TreeSpec):
        super().__init__()
        self.model, self.form = model, form

    def forward(self, *leaves: Any, **more: Any) -> Any:
        """Run the module."""
        return call_by_name(self.model, self.form, *leaves, **more)


def as_called(loss: Callable, model: Any) -> Callable:
    """Let a loss of a model be called with all inputs by place, as that is."""
    form = getattr(model, "form", None)
    if not isinstance(form, TreeSpec):
        return loss

    def ask(called: Any, *leaves: Any) -> Any:
        return call_by_name(partial(loss, called), form, *leaves)

    return ask


def forward_of(kind: Any) -> Callable:
    """Make a `forward` by place of that of a class."""

    def forward(self: Any, *leaves: Any, **more: Any) -> Any:
        call = partial(kind.forward, self)
        if len(leaves) != self.form.num_leaves:  # a loss calls it by name
            return call(*leaves, **more)
        return call_by_name(call, self.form, *leaves, **more)

    if (asked := parameters_of(kind)) is not None:
        found: Any = forward
        found.__signature__ = Signature([*asked.values()])
    return forward


def call_by_name(
    call: Callable, form: TreeSpec, *leaves: Any, **more: Any
) -> Any:
    """Call something as its caller did; with more by name."""
    inputs, named = tree_unflatten(leaves, form)
    return call(*inputs, **{**more, **named})


def sequences(given: tuple, names: list[str]) -> list[int]:
    """Tell which inputs are sequences: ids or vectors, and no masks, kinds
    of tokens, or numbers of positions. All of them, where none is."""
    named = enumerate(zip(given, names))
    found = [i for i, (x, name) in named if is_sequence(x, name)]
    return found if len(given) > 1 and found else [*range(len(given))]


def parameter_names(model: Callable, count: int) -> list[str]:
    """Name what a model's inputs are handed to; "" where nobody says."""
    kinds = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
    asked = parameters_of(model) or {}
    names = [name for name, one in asked.items() if one.kind in kinds]
    return (names + [""] * count)[:count]


def is_sequence(x: Any, name: str) -> bool:
    """Whether an input is ids (B, T) or vectors (B, T, C)."""
    if not isinstance(x, Tensor) or x.dtype == torch.bool:
        return False
    if x.ndim not in (2, 3) or not x.numel() or NO_SEQUENCE.search(name):
        return False
    if x.is_floating_point():
        return x.ndim == 3 and bool(x.isfinite().all() and x.max() > 0)
    steps = x.diff(dim=1).abs()
    counted = bool(steps.numel() and steps.max() <= 1 and x[:, 0].max() <= 1)
    return x.ndim == 2 and (not counted or bool(SEQUENCE.search(name)))
