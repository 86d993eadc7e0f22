"""Numbers: finite, repeatable, logits at the end; what dropout takes away."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from shapewatch.properties.attention import all_attentions
from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.perturbation import (
    AddNoise,
    baseline_output,
    few_outputs,
    raw_output,
    with_rows,
)
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    in_double,
    once,
    select_output,
    with_model,
)
from shapewatch.tracing.record.detours import unfused
from shapewatch.tracing.record.shared import following
from shapewatch.tracing.record.state import State, seed_all
from shapewatch.tracing.record.visits import paths_of

LOUD, LOUDLY = 30.0, "with weights 30 times larger"
DEEP = "There is no attention, though: many layers may do that."
PADDING_ALONE = "for a source of padding alone"
WHERE = "trace(model, ...).first_nan() names the call that makes the first."
BARE = "Other models do that, too: such a row must then never come."
FAST = "Only PyTorch's fast path gives them, in evaluation."


@check
def finite(subject: Subject) -> Verdict:
    """See whether all outputs are numbers: as the model is, with weights 30
    times as large, and for a sentence of padding alone."""
    for when, result in runs_to_judge(subject):
        rows = flat_rows(result.isfinite().float()).mean(-1)
        if (rows < 1)[unpadded_rows(subject, result)].any():
            share = 1 - result.isfinite().double().mean().item()
            says = (
                f"{share:.0%} of the outputs are NaN or infinite {when}. "
                "Look at the softmax (does it take the largest score away "
                "first?), and for rows with nothing to attend to."
            )
            if finite_when_slow(subject, when):
                return False, f"{says} {FAST}", rows, UNUSUAL
            small = result.dtype == torch.float16  # nothing above 65,504
            excusable = when == LOUDLY and (
                small or not all_attentions(subject)
            )
            if excusable and finite_in_double(subject):
                continue
            if when == LOUDLY and not all_attentions(subject):
                return False, f"{says} {DEEP}", rows, UNUSUAL
            if when == PADDING_ALONE:
                return False, f"{says} {BARE}", rows, UNUSUAL
            return False, says if when == LOUDLY else f"{says} {WHERE}", rows
    says = "All outputs are numbers, also with weights 30 times larger."
    return True, says, rows


def finite_when_slow(subject: Subject, when: str) -> bool:
    """Whether outputs are numbers off the fast path of PyTorch's layers."""
    with AddNoise([], []):
        slowly = dict(runs_to_judge(with_model(subject, subject.model)))[when]
    return bool(slowly.isfinite()[unpadded_rows(subject, slowly)].all())


def finite_in_double(subject: Subject) -> bool:
    """Whether outputs with larger weights are numbers in double precision:
    it has room for what many layers make, and for powers of e only where the
    exponents are up to 8 times larger, and so are the weights."""
    try:
        double = in_double(subject)
        louder = partial(loud, double, times=8 * LOUD)
        result = double.call(louder, double.given)
    except (NotJudgedError, FailedError):  # it knows one precision only
        return False
    return bool(result.isfinite()[unpadded_rows(subject, result)].all())


def runs_to_judge(subject: Subject) -> Iterator[tuple[str, Tensor]]:
    """Run as it is, loudly, and with a sentence of padding alone."""
    inputs = subject.inputs
    yield "as it is", raw_output(subject)
    if isinstance(subject.model, nn.Module):
        known = subject.state.known
        hidden = [p for p in subject.model.parameters() if id(p) not in known]
        with State(*hidden):
            result = subject.call(partial(loud, subject), subject.given)
        yield LOUDLY, result
    padding = ~subject.real[0]
    if subject.last == 1 and padding.any():
        source = inputs[0].clone()
        source[0] = source[padding][0]
        yield PADDING_ALONE, subject.run(source, inputs[1])


def loud(subject: Any, *given: Tensor, times: float = LOUD) -> Tensor:
    """Run a model with larger weights, each of them larger once, however
    many names it has. `Subject.call` puts them back."""
    weights = {x.data_ptr(): x for x in subject.model.parameters()}
    for x in weights.values():
        if x.ndim > 1 and x.is_floating_point():
            x.mul_(times)
    return subject.made(*given)


@check
def repeatable(subject: Subject) -> Verdict:
    """See whether two runs in evaluation agree, whatever random numbers
    they are offered, and leave the inputs as they were."""
    if written := overwritten(subject):
        return overwrite_verdict(subject, *written)
    apart = after_others(subject)
    if not apart.any():
        return True, "Two runs in evaluation give the same numbers.", apart
    if not (again := between_two(subject)).any():
        says = (
            "A run gives other numbers after one of other rows. Look for what "
            "the model keeps of a run, such as a mask, and when it is made "
            "anew."
        )
        return False, says, apart
    says = (
        "Two runs in evaluation differ. Look for dropout that does not ask "
        "whether the model is in training, and for weights drawn anew."
    )
    return False, says, again


def overwritten(subject: Subject) -> tuple[int, Tensor] | None:
    """Find an input that a run writes into, and where: (B, T)."""
    _, found = two_runs(few_outputs(subject))
    return next(((i, where) for i, where in found if where.any()), None)


def overwrite_verdict(subject: Subject, which: int, where: Tensor) -> Verdict:
    """Say that a run writes into an input: of ids, nobody's but the caller's
    are changed; a part of a model may be given vectors to write into."""
    side, name = subject.side(which), subject.names[subject.places[which]]
    known = f"{side} ({name})" if name not in ("", side) else side
    says = (
        f"A run writes into its {known}: whoever called the model has another "
        "one afterwards. Look for what writes in place: x[...] = ..., x += "
        "..., and functions such as masked_fill_. Clone it first."
    )
    if subject.inputs[which].is_floating_point():
        return False, says, flat_rows(where.float()).amax(-1), UNUSUAL
    return False, says, flat_rows(where.float()).amax(-1)


def between_two(subject: Subject) -> Tensor:
    """How far each row is from where it was a run before."""
    (one, other), _ = two_runs(few_outputs(subject))
    return flat_rows((one - other).abs()).amax(-1)


def after_others(subject: Subject) -> Tensor:
    """How far each row is from where it is alone, after a run of others, and
    with other random numbers."""
    subject = few_outputs(subject)
    others = with_rows(subject, lambda x: x.roll(1, 0).flip(1))

    def ask(*given: Any) -> Tensor:
        subject.made(*others)
        return subject.made(*given).nan_to_num()

    try:
        after = subject.call(ask, subject.given, seed=1)
    except (FailedError, RuntimeError):  # the others do not fit
        return between_two(subject)
    return flat_rows((after - raw_output(subject).nan_to_num()).abs()).amax(-1)


Overwrites = list[tuple[int, Tensor]]  # which inputs, and where


@once
def two_runs(subject: Subject) -> tuple[list[Tensor], Overwrites]:
    """Run a model two times, one after the other; and see which inputs the
    first run has written into."""
    every = enumerate(subject.inputs)
    was = [(i, x, x.clone()) for i, x in every if isinstance(x, Tensor)]

    def ask(*given: Tensor) -> tuple[list[Tensor], Overwrites]:
        runs = [subject.made(*given).nan_to_num()]
        found = [(i, (x != y) & ~(x.isnan() & y.isnan())) for i, x, y in was]
        seed_all(1)
        return [*runs, subject.made(*given).nan_to_num()], found

    return subject.call(ask, subject.given)


@check
def logits(subject: Subject) -> Verdict:
    """See whether the outputs are logits: the loss has the softmax."""
    outputs = baseline_output(subject)
    sums = outputs.flatten(2).sum(-1)
    outputs = outputs[subject.real[-1]]
    off = (sums - 1)[subject.real[-1]].abs().max()
    if outputs.shape[-1] > 1 and outputs.min() >= 0 and off < 1e-3:
        says = (
            "The outputs are probabilities: each row sums to 1. A loss such "
            "as cross_entropy has a softmax of its own: give it logits."
        )
        return False, says, sums
    return True, "The outputs are no probabilities yet.", sums


def flat_rows(x: Tensor) -> Tensor:
    """Put all numbers of a row into one axis: (B, T, ...) -> (B, T, N)."""
    return x[(..., *[None] * (3 - x.ndim))].flatten(2)


def unpadded_rows(subject: Subject, x: Tensor) -> Tensor:
    """Tell which rows are judged: (B, T). Nobody reads what comes out at
    padding."""
    real, shape = subject.real[-1], (*x.shape, 1, 1)[:2]
    return real if real.shape == shape else torch.ones(shape) > 0


DRAWS = {"rand", "rand_like", "bernoulli", "bernoulli_", "uniform_"}
TIMES = {"mul", "mul_", "multiply"}
OVER = {"div", "div_", "truediv", "divide"}
HIDES = {"masked_fill", "masked_fill_", "where"}
SURE_COUNT = 5  # times as far as chance takes a share, as a rule
NO_DROPOUT = "Nothing is dropped in training: no dropout runs with p > 0."


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
    chance = SURE_COUNT * (p * share / one.by.numel()) ** 0.5
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


class DropNotes:
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


class DropRecorder(DropNotes, TorchFunctionMode):
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
    seen, outputs = record_dropout(subject, True)
    if not seen.drops:
        raise NotJudgedError(NO_DROPOUT)
    rates = torch.tensor([[1 - x.left()[0] for x in seen.drops]])
    for says, level in drop_faults(subject, seen, outputs):
        return False, says, rates, level
    says = "Dropout takes at most half, and makes up for it"
    return True, f"{says}, in {len(seen.drops)} places.", rates


def drop_faults(
    subject: Subject, seen: DropRecorder, outputs: Tensor
) -> Iterator[tuple[str, str]]:
    """Say what is wrong with what is dropped, and of which level that is."""
    scales: list[float] = []
    if any(wrong(x, []) for x in seen.drops):
        scales = record_dropout(subject, False)[0].scales
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


def record_dropout(
    subject: Subject, training: bool
) -> tuple[DropRecorder, Tensor]:
    """Run a model and note what it drops; NotJudgedError where that fails."""
    inside = Inside(subject.model)
    seen = DropRecorder(inside)

    def ask(*given: Any) -> Tensor:
        model: Any = subject.model
        model.train(training)
        with unfused(), following(inside), seen:
            made = model(*given)
        return select_output(subject.pick, made, given[subject.places[-1]])

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
