"""Few outputs: the same model, where a wide matrix that gives all outputs
has few rows. What moves the vectors that it reads moves these as well."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor, nn

from shapewatch.properties.distances import undisturbed
from shapewatch.properties.results import picked
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    like,
    once,
)
from shapewatch.properties.variants import copied
from shapewatch.tracing.record.shared import following

WIDE, LARGE = 4, 2**20  # rows for a column, and numbers
SIDES = "forward", "forward_pre", "backward", "backward_pre"


@once
def few_outputs(subject: Subject) -> Subject:
    """Ask the same of a model that has about as many outputs (B, T, V) as
    its vectors have channels; of the same one, unless a linear layer gives
    many more, and nothing is done to them after it."""
    whole: Any = subject.model
    ask = getattr(whole, "modules", list)
    wide = [part for part in ask() if is_wide(part)]
    if len(wide) != 1:
        return subject
    few: Any = of_few_rows(*wide)
    shared = {id(p): p for p in whole.parameters()}
    try:
        undisturbed(subject)
        model = copied(whole, shared | {id(wide[0]): few})
        other = like(subject, model)
        made = other.call(partial(given_by, other, few), other.given)
    except (NotJudgedError, FailedError):
        return subject
    other.found["looked_on",] = made, False  # the same run as that
    return subject if made is None else other


def is_wide(part: nn.Module) -> bool:
    """Whether a module is a plain linear layer that has many more outputs
    than inputs."""
    if type(part) is not nn.Linear or "forward" in vars(part):
        return False
    rows, columns = part.weight.shape
    own = "weight" in part._parameters
    plain = own and not any(getattr(part, f"_{x}_hooks") for x in SIDES)
    return plain and rows > WIDE * columns and rows * columns > LARGE


def of_few_rows(whole: nn.Linear) -> nn.Linear:
    """Make a layer of some rows of another's matrix, in the same memory."""
    rows = slice(None, None, whole.out_features // whole.in_features)
    some = {
        name: nn.Parameter(p.detach()[rows], p.requires_grad)
        for name, p in whole.named_parameters()
    }
    few = nn.Linear(
        whole.in_features, len(some["weight"]), "bias" in some, device="meta"
    )
    for name, p in some.items():
        few.register_parameter(name, p)
    return few.train(whole.training)


def given_by(subject: Subject, last: nn.Module, *given: Any) -> Tensor | None:
    """Give the outputs of a run, a row for each position, if they are what a
    module gave, and nothing was written into that."""
    noted = Noted(last)
    with following(noted):
        result, rows = subject.model(*given), given[subject.places[-1]]
    made = picked(subject.pick, result, rows)
    fits = made.ndim > 2 and made.shape[:2] == rows.shape[:2]
    same = any(made is x and made._version == n for x, n in noted)
    return made.clone() if fits and same else None


class Noted(list[tuple[Tensor, int]]):
    """Note what a module gives, and how often it was written into by then."""

    def __init__(self, part: nn.Module):
        super().__init__()
        self.part = part

    def run(
        self, call: Callable, part: nn.Module, *args: Any, **kwargs: Any
    ) -> Any:
        """Call a module."""
        result = call(part, *args, **kwargs)
        if part is self.part:
            self.append((result, result._version))
        return result
