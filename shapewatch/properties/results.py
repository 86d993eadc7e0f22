"""Results: the tensor that is judged, in what a model gives; and errors."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

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


def picked(pick: Pick, result: Any, rows: Any = None) -> Tensor:
    """Take the tensor that a name or a function picks of what a model gave;
    FailedError says what there is. Without a pick, see `output`."""
    if pick is None:
        return output(result, rows)
    if not isinstance(pick, str):
        found, what = pick(result), "What output= picks"
    elif pick in (parts := named_parts(result)):
        found, what = parts[pick], f"{pick!r}"
    else:
        raise FailedError(f"There is no {pick!r}. {there_is(result)}")
    if isinstance(found, Tensor):
        return found
    kind = type(found).__name__
    raise FailedError(f"{what} is {kind}, and no tensor. {there_is(result)}")


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


def there_is(result: Any) -> str:
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
