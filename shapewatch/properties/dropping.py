"""Dropout: what it leaves in training is as large on average as before."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from shapewatch.properties.finding import (
    BROKEN,
    UNUSUAL,
    Verdict,
    check,
)
from shapewatch.properties.results import picked
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
)
from shapewatch.tracing.record.models import fast_path_off
from shapewatch.tracing.record.shared import following
from shapewatch.tracing.record.visits import paths_of

DRAWS = {"rand", "rand_like", "bernoulli", "bernoulli_", "uniform_"}
TIMES = {"mul", "mul_", "multiply"}
OVER = {"div", "div_", "truediv", "divide"}
HIDES = {"masked_fill", "masked_fill_", "where"}
SURE = 5  # times as far as chance takes a share, as a rule
NONE = "Nothing is dropped in training: no dropout runs with p > 0."


class Drop:
    """A tensor before and after some of its numbers were dropped: by dropout
    with a p, or by a random mask."""

    def __init__(
        self, path: str, before: Tensor, after: Tensor, by: float | Tensor
    ):
        self.path = path or "the model"
        self.before, self.after, self.by = before, after, by

    def left(self) -> tuple[float, float]:
        """Give the share that is left, and how large that is by now."""
        alive = self.before != 0
        kept = alive & (self.after != 0)
        times = self.after[kept] / self.before[kept]
        size = times.float().median().item() if len(times) else 0.0
        return kept.sum().item() / max(alive.sum().item(), 1), size

    def is_shared(self) -> bool:
        """Whether a mask with several numbers is one for several rows."""
        mask, x = self.by, self.after
        if not isinstance(mask, Tensor) or mask.ndim != x.ndim:
            return False
        return len(mask) == 1 < min(len(x), mask.numel())


def wrong(one: Drop, scales: list[float]) -> tuple[str, str] | None:
    """Say what is wrong with what was dropped, and of which level that is."""
    random = isinstance(one.by, Tensor)
    share, size = one.left() if random else (1.0, 1.0)
    p = 1 - share if random else float(one.by)
    if p > 0.5:
        says = f"drops {p:.0%} of its numbers: p is the share that goes, "
        return f"{says}and not the one that is kept.", UNUSUAL
    if not one.before.is_floating_point() or is_whole(one.before):
        says = "drops ids: other words are looked up. Drop vectors."
        return says, BROKEN if is_whole(one.before) else UNUSUAL
    if one.is_shared():
        says = "drops the same numbers of each row: draw as many masks "
        return f"{says}as there are rows.", UNUSUAL
    if not isinstance(one.by, Tensor) or p < 1e-3:
        return None
    chance = SURE * (p * share / one.by.numel()) ** 0.5
    in_evaluation = any(abs(x - share) < chance for x in scales)
    if abs(size * share - 1) < chance * max(size, 1) or in_evaluation:
        return None
    says = f"drops {p:.0%} of its numbers and makes the others {size:.2f} "
    says += f"times as large: the mean is as before with 1 / {share:.2f} = "
    return f"{says}{1 / share:.2f}.", BROKEN


class Inside:
    """Know which module of a model runs."""

    def __init__(self, model: Any):
        self.paths = paths_of(model)
        self.path = ""

    def run(
        self, call: Callable, part: nn.Module, *args: Any, **kwargs: Any
    ) -> Any:
        """Call a module."""
        outside, self.path = self.path, self.paths.get(id(part), self.path)
        try:
            return call(part, *args, **kwargs)
        finally:
            self.path = outside


class Notes:
    """What is dropped in a run, by dropout or by a random mask, and by which
    numbers tensors are scaled."""

    def __init__(self, inside: Inside):
        super().__init__()
        self.inside = inside
        self.drops: list[Drop] = []
        self.drawn: dict[int, Tensor] = {}  # random masks
        self.bases: dict[int, tuple[Tensor, Tensor]] = {}  # before a scale
        self.scales: list[float] = []

    def note(
        self, name: str, made: Tensor, given: list, numbers: list
    ) -> None:
        """Note a call that draws, masks or scales."""
        masks = [x for x, _ in given if id(x) in self.drawn]
        others = [(x, was) for x, was in given if id(x) not in self.drawn]
        others = [pair for pair in others if pair[0].ndim]
        if name in DRAWS or (masks and not others):
            self.drawn[id(made)] = made
        elif masks and name in TIMES | HIDES:
            x, was = others[0]
            before, _ = self.bases.get(id(x), (was, x))
            self.noted(before, made, masks[0])
        elif numbers and given and name in TIMES | OVER:
            self.scaled(given[0], made, numbers[0], name in OVER)

    def noted(self, x: Tensor, made: Tensor, by: float | Tensor) -> None:
        """Note that something was dropped, and where."""
        self.drops.append(Drop(self.inside.path, x, made, by))

    def scaled(self, pair: tuple, made: Tensor, by: float, over: bool) -> None:
        """Note that a tensor was scaled."""
        x, was = pair
        self.scales.append(1 / by if over and by else float(by))
        self.bases[id(made)] = was, made
        for one in self.drops:
            if x is one.after:
                one.after = made


class Dropping(Notes, TorchFunctionMode):
    """Take notes of a run, and of what a softmax reads."""

    def __init__(self, inside: Inside):
        super().__init__(inside)
        self.normalised: list[Tensor] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        plain = name.strip("_").removeprefix("r").removeprefix("i")
        given = [x for x in args if isinstance(x, Tensor)]
        held = [x.clone() for x in given] if plain in TIMES | OVER else given
        made = function(*args, **(kwargs or {}))
        if isinstance(made, Tensor):
            if name == "dropout":
                self.dropped(made, args, kwargs or {})
            elif name in ("softmax", "softmax_"):
                self.normalised += given
            else:
                name = name if name in DRAWS | HIDES else plain
                numbers = [x for x in args if isinstance(x, (int, float))]
                self.note(name, made, [*zip(given, held)], numbers)
        return made

    def dropped(self, made: Tensor, args: tuple, more: dict) -> None:
        """Note a call of dropout."""
        names = dict(zip(("input", "p", "training"), args)) | more
        on = names.get("training", names.get("train", True))
        if on and names.get("p", 0.5) > 0:
            self.noted(names["input"], made, float(names.get("p", 0.5)))


@check
def dropout(subject: Subject) -> Verdict:
    """See whether dropout, in training, takes away at most half of the
    numbers, and makes the others larger by as much; and drops vectors or
    weights, and no ids, scores or logits.

    Srivastava et al. (2014), section 10.
    """
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function is not in training.")
    seen, outputs = run(subject, True)
    if not seen.drops:
        raise NotJudgedError(NONE)
    rates = torch.tensor([[1 - x.left()[0] for x in seen.drops]])
    for says, level in faults(subject, seen, outputs):
        return False, says, rates, level
    says = "Dropout takes at most half, and makes up for it"
    return True, f"{says}, in {len(seen.drops)} places.", rates


def faults(
    subject: Subject, seen: Dropping, outputs: Tensor
) -> Iterator[tuple[str, str]]:
    """Say what is wrong with what is dropped, and of which level that is."""
    scales: list[float] = []
    if any(wrong(x, []) for x in seen.drops):
        scales = run(subject, False)[0].scales
    for one in seen.drops:
        found = wrong(one, scales)
        if found:
            yield f"In training, {one.path} {found[0]}", found[1]
        elif any(x is one.after for x in seen.normalised):
            says = "drops scores: after a softmax, 0 is not nothing."
            yield f"In training, {one.path} {says} Drop weights.", UNUSUAL
        elif is_logits(subject, one.after) and one.after.equal(outputs):
            says = "drops logits: words get the logit 0 by chance."
            yield f"In training, {one.path} {says}", UNUSUAL


def run(subject: Subject, training: bool) -> tuple[Dropping, Tensor]:
    """Run a model and note what it drops; NotJudgedError where that fails."""
    inside = Inside(subject.model)
    seen = Dropping(inside)

    def ask(*given: Any) -> Tensor:
        model: Any = subject.model
        model.train(training)
        with fast_path_off(), following(inside), seen:
            made = model(*given)
        return picked(subject.pick, made, given[subject.places[-1]])

    try:
        return seen, subject.call(ask, subject.given)
    except FailedError as error:
        raise NotJudgedError(f"In training it fails: {error}") from error


def is_whole(x: Tensor) -> bool:
    """Whether decimals are ids: (B, T)."""
    small = not x.is_floating_point() or x.ndim != 2 or x.max() < 2
    return not small and x.equal(x.round())


def is_logits(subject: Subject, x: Tensor) -> bool:
    """Whether a tensor has a number for each word of a table."""
    model: Any = subject.model
    tables = (part for part in model.modules() if type(part) is nn.Embedding)
    sizes = {part.num_embeddings for part in tables}
    return x.ndim == 3 and x.shape[-1] in sizes
