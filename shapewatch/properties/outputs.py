"""Outputs: what a model gave, the tensor that is judged, or its error."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from shapewatch.tracing.record.tensors import tensors

Pick = str | Callable[[Any], Tensor] | None


class FailedError(Exception):
    """The model could not be run; the message says how it failed."""


def error_line(error: Exception) -> str:
    """Say in one line what went wrong."""
    if isinstance(error, FailedError):
        return str(error)
    first = str(error).split("\n")[0]
    return f"{type(error).__name__}: {first[:150]}"


def find_output(result: Any, rows: Any = None) -> Tensor:
    """Find the tensor in what a model gave: its `logits`, the first that has
    vectors for the positions of `rows`, or the first that is no number."""
    every = tensors(getattr(result, "logits", result))
    outputs = [x for x in every if x.ndim] or every
    if not outputs:
        raise FailedError(f"It gave {type(result).__name__}, not a tensor.")
    shape = getattr(rows, "shape", ())[:2]
    fit = (x for x in outputs if x.ndim > 2 and x.shape[:2] == shape)
    return next(fit, outputs[0])


def select_output(pick: Pick, result: Any, rows: Any = None) -> Tensor:
    """Take the tensor that a name or a function picks of what a model gave;
    FailedError says what there is. Without a pick, see `find_output`."""
    if pick is None:
        return find_output(result, rows)
    if not isinstance(pick, str):
        output, what = pick(result), "What output= picks"
    elif pick in (parts := named_parts(result)):
        output, what = parts[pick], f"{pick!r}"
    else:
        raise FailedError(f"There is no {pick!r}. {gave_text(result)}")
    if isinstance(output, Tensor):
        return output
    kind = type(output).__name__
    raise FailedError(f"{what} is {kind}, not a tensor. {gave_text(result)}")


def for_positions(outputs: Tensor, rows: Tensor) -> Tensor:
    """Give each position of `rows` what a pooled model made of all of them:
    (B) or (B, K) -> (B, T, K). With K = T there might be a number for each
    position: that stays. An image has no positions yet."""
    of_rows = outputs.ndim in (1, 2) and len(outputs) == len(rows)
    if not of_rows or rows.ndim not in (2, 3):
        return outputs
    flat = outputs.reshape(len(outputs), -1)
    if flat.shape[1] == rows.shape[1]:
        return outputs
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
