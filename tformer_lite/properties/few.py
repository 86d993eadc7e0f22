"""Few outputs: the same model, where a wide matrix that gives all outputs
has few rows. What moves the vectors that it reads moves these as well."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor, nn

from tformer_lite.properties.distances import undisturbed
from tformer_lite.properties.results import picked
from tformer_lite.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    like,
    once,
)
from tformer_lite.properties.variants import copied
from tformer_lite.tracing.record.shared import following

WIDE, LARGE = 4, 2**20  # rows for a column, and numbers
HOOKS = "_forward_hooks", "_forward_pre_hooks"
HOOKS += "_backward_hooks", "_backward_pre_hooks"


@once
def few_outputs(subject: Subject) -> Subject:
    """Ask the same of a model that has about as many outputs (B, T, V) as
    its vectors have channels; of the same one, unless a linear layer gives
    many more, and nothing is done to them after it."""
    parts = getattr(subject.model, "modules", list)()
    wide = [part for part in parts if is_wide(part)]
    if len(wide) != 1:
        return subject
    few: Any = of_few_rows(*wide)
    shared = {id(p): p for p in subject.model.parameters()}
    try:
        undisturbed(subject)
        model = copied(subject.model, shared | {id(wide[0]): few})
        other = like(subject, model)
        last = other.call(partial(gives_all, other, few), other.given)
    except (NotJudgedError, FailedError):
        return subject
    return other if last else subject


def is_wide(part: nn.Module) -> bool:
    """Whether a module is a plain linear layer that has many more outputs
    than inputs."""
    if type(part) is not nn.Linear or "forward" in vars(part):
        return False
    rows, columns = part.weight.shape
    own = "weight" in part._parameters
    plain = own and not any(getattr(part, name) for name in HOOKS)
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


def gives_all(subject: Subject, last: nn.Module, *given: Any) -> bool:
    """Whether the outputs of a run, a row for each position, are what a
    module gave, and nothing was written into that."""
    noted = Noted(last)
    with following(noted):
        result, rows = subject.model(*given), given[subject.places[-1]]
    made = picked(subject.pick, result, rows)
    fits = made.ndim > 2 and made.shape[:2] == rows.shape[:2]
    return fits and any(made is x and made._version == n for x, n in noted)


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
