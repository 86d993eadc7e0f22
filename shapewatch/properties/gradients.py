"""Gradients: which parameters one flows into, how large it is, and whether it
is what a small step of the weights measures."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.perturbation import few_outputs, watch_modules
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    TrainingModel,
    find_output,
    in_double,
)
from shapewatch.tracing.record.state import seed_all
from shapewatch.tracing.record.tensors import tensors


def largest_size(_: Tensor, g: Tensor) -> float:
    """Give the largest size of the numbers of a tensor's gradient."""
    if g.is_complex() or g.is_sparse:
        return g.abs().max().item()
    least, most = g.aminmax()
    return max(-least.item(), most.item())


def parameter_gradients(
    subject: Subject, take: Callable[[Tensor, Tensor], Any] = largest_size
) -> dict[Tensor, Any]:
    """Find what the outputs depend on and could learn, with the largest size
    of its gradient, or what else is to be taken of it. What writes in place
    may have one in training only."""
    ask = partial(output_gradients, take=take)
    try:
        return subject.call(partial(ask, subject.model), subject.given)
    except FailedError:
        if not isinstance(subject.model, nn.Module):
            raise
        training = TrainingModel(subject.model)
        return subject.call(partial(ask, training), subject.given)


def output_gradients(
    model: Callable,
    *inputs: Tensor,
    change: Callable = list,
    take: Callable[[Tensor, Tensor], Any] = largest_size,
) -> dict[Tensor, Any]:
    """Draw gradients of all that a model gives, and hand back their size, or
    what else is to be taken of a tensor and its gradient; with a change
    first, to what leads to the outputs."""
    with torch.enable_grad():
        result = model(*inputs)
    every = tensors(result) or [find_output(result)]
    made = [x for x in every if x.grad_fn is not None]
    change(made)
    found, pulls = leaves(made), [torch.randn_like(x) for x in made]
    return take_gradients(made, pulls, found, take)


def take_gradients(
    outputs: list[Tensor],
    pulls: list[Any],
    found: list[Tensor],
    take: Callable[[Tensor, Tensor], Any],
) -> dict[Tensor, Any]:
    """Draw gradients of some outputs, and take of each that is found what
    matters, as soon as it is there: all of them at once are as large as the
    model, and to have so much memory made takes longer than the sums."""
    known: dict[Tensor, Any] = {}
    if not found or not any(x.requires_grad for x in outputs):
        return known

    def take_one(x: Tensor, g: Tensor) -> Tensor | None:
        known[x] = take(x, g)
        plain = g.layout is torch.strided and not g.is_nested
        return g.new_zeros(()).expand_as(g) if plain else None  # it may go

    with ExitStack() as hooks:
        for x in found:
            if x.requires_grad:
                hooks.enter_context(x.register_hook(partial(take_one, x)))
        grads = torch.autograd.grad(outputs, found, pulls, allow_unused=True)
    for x, g in zip(found, grads):
        if g is not None and x not in known:
            known[x] = take(x, g)
    return {x: known[x] for x in found if x in known}


def leaves(outputs: list[Tensor]) -> list[Tensor]:
    """Find the tensors that a gradient of the outputs flows into."""
    found = graph_nodes(outputs)
    return [node.variable for node in found if hasattr(node, "variable")]


def graph_nodes(outputs: list[Tensor]) -> list[Any]:
    """List the steps back from the outputs, each once."""
    seen: dict[Any, None] = {}
    ahead: list[Any] = [x.grad_fn for x in outputs]
    while ahead:
        node = ahead.pop()
        if node is not None and node not in seen:
            seen[node] = None
            ahead += [earlier for earlier, _ in node.next_functions]
    return [*seen]


STEPS = 1e-7, 1e-5, 1e-3  # shares of the weights' size: small ones may round
NEAR_SLOPE, FINE, ROUGH = (
    1e-5,
    1e-4,
    1e-2,
)  # of a slope's size, by which it is off
LIST_ITEM = re.compile(r"(.*?\.)?\d+(\.|$)")  # a part of a list
MANY_ROWS = 256  # rows: of more, so many are moved
LARGE = 1e4  # what hides a score is larger, and no number of the model
STEP_FUNCTIONS = {"round", "floor", "ceil", "sign", "argmax", "argmin", "topk"}
STEP_FUNCTIONS |= {"bernoulli", "multinomial", "heaviside", "fake_quantize"}
CUT_HINT = "Look for .detach(), .data, torch.no_grad() and torch.tensor(x)."
NO_SLOPE = "No slope can be measured: none is there, or it is not smooth."
STEPS_MEANT = (
    "It gives steps, so that may be meant (a straight-through gradient)."
)
MEANT = "No block is touched, so that may be meant."
Directions = list[tuple[Tensor, Tensor]]  # what is moved, and where


class Slope(NamedTuple):
    """A slope in a direction: as the gradient has it, as a step measures it,
    by how much that may be off, and how large its parts are."""

    drawn: float
    measured: float
    off: float
    size: float

    @property
    def right(self) -> bool:
        """Whether the two are one, as far as can be told."""
        apart = abs(self.drawn - self.measured)
        return not apart > max(10 * self.off, NEAR_SLOPE * self.size)


@check
def exact_gradients(subject: Subject) -> Verdict:
    """See whether the gradient of a random sum of the outputs, by all
    weights that have one, is the slope that a small step of these measures.

    It is reckoned in double precision, on a copy.
    """
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function has no parameters.")
    found, double = judged_slope(subject)
    seen = torch.tensor([found[:2]])
    if found.right:
        says = (
            "A small step of the weights moves the outputs as gradients say."
        )
        return True, says, seen
    says, level = what_is_cut(double)
    share = abs(found.drawn - found.measured) / found.size
    says = (
        "A small step of the weights moves the outputs otherwise than the "
        f"gradients say ({share:.1%} apart){says}"
    )
    return False, says, seen, level


def judged_slope(subject: Subject) -> tuple[Slope, Subject]:
    """Find the slope by all weights, and the subject in double precision: of
    few outputs, where these show that it is right."""
    for some in dict.fromkeys((few_outputs(subject), subject)):
        double = in_double(some)
        try:
            found = double.call(partial(of_weights, double, ""), double.given)
        except FailedError as error:
            says = f"No gradient can be drawn in double precision: {error}"
            raise NotJudgedError(says) from error
        if found.right and found.off <= ROUGH * found.size:
            return found, double
    if not found.off <= ROUGH * found.size:
        raise NotJudgedError(NO_SLOPE)
    return found, double


def of_weights(subject: Subject, inside: str, *given: Any) -> Slope:
    """Find the slope by all weights that have a gradient; or those in paths
    that begin so."""
    model: Any = subject.model
    named = model.named_parameters()
    weights = [p for name, p in named if name.startswith(inside)]
    padding = {
        part.weight: part.padding_idx
        for part in model.modules()
        if isinstance(part, nn.Embedding) and part.padding_idx is not None
    }
    run = partial(subject.made, *given)
    return slope(partial(at_words, subject, run), weights, padding)


def at_words(subject: Subject, run: Callable[[], Any]) -> list[Tensor]:
    """Give what a run makes, but not at padding: there a mask of large
    numbers may swallow the scores, and no step moves them."""
    real = subject.real[-1]
    made = tensors(run())
    return [x[real] if x.shape[:2] == real.shape else x for x in made]


def slope(
    run: Callable[[], Any], leaves: list[Tensor], padding: dict[Tensor, int]
) -> Slope:
    """Find the slope of a random sum of what a run gives, in a random
    direction of the leaves that get a gradient, but for rows of padding."""
    leaves = [x for x in leaves if x.requires_grad]
    with torch.enable_grad():
        value = random_projection(run)

    def move(x: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return random_direction(x.detach(), g, padding.get(x, -1))

    known = take_gradients([value], [None], leaves, move).values()
    if not known:
        return Slope(0.0, 0.0, torch.inf, 0.0)
    parts = torch.stack([part for _, _, part in known])
    ways = [(x, way) for x, way, _ in known]
    drawn, size = parts.sum().item(), parts.norm().item()
    rise = (value_after_step(run, ways, STEPS[0]) - value.item()) / STEPS[0]
    if abs(drawn - rise) <= NEAR_SLOPE * size:  # no chance makes two so alike
        return Slope(drawn, rise, 0.0, size)
    return finite_difference(run, ways, drawn, size)


def finite_difference(
    run: Callable[[], Any], ways: Directions, drawn: float, size: float
) -> Slope:
    """Measure a slope by steps of several lengths, since some bend and some
    round: the right ones count among those that are fine, or not too rough.
    """
    found, rounded = list[Slope](), 0.0
    for step in STEPS:
        value, off = central_difference(run, ways, step)
        found.append(Slope(drawn, value, max(off, rounded), size))
        if found[-1].off <= FINE * size and found[-1].right:
            break
        rounded = off / 30  # at the next step, if it did round
    for most in (FINE, ROUGH):
        if fine := [one for one in found if one.off <= most * size]:
            return next((one for one in fine if one.right), fine[0])
    return min(found, key=lambda one: one.off)


def random_projection(run: Callable[[], Any]) -> Tensor:
    """Run, and sum up what comes out, with the same random weights."""
    seed_all(0)
    made = [x for x in tensors(run()) if x.is_floating_point()]
    numbers = [x[x.isfinite()].double() for x in made]
    draw = torch.Generator().manual_seed(0)
    return sum(
        (x @ torch.randn(len(x), generator=draw).to(x) for x in numbers),
        torch.zeros(()),
    )


def random_direction(
    x: Tensor, g: Tensor, row: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw a direction of the size of a tensor, 0 in one row; of many rows,
    of those around the one with the largest gradient. Give what is moved,
    where, and the slope that its gradient has there."""
    size = x.flatten()[: MANY_ROWS**2].square().mean().sqrt().item()
    if row >= 0:
        g = g.index_fill(0, torch.tensor([row]), 0.0)
    if x.ndim > 1 and len(x) > MANY_ROWS:
        least, most = g.flatten(1).aminmax(dim=1)
        first = (
            torch.maximum(-least, most).argmax().item()
            // MANY_ROWS
            * MANY_ROWS
        )
        x, g = x[first : first + MANY_ROWS], g[first : first + MANY_ROWS]
        row -= int(first)
    draw = torch.Generator().manual_seed(x.numel())
    way = torch.randn(x.shape, generator=draw).to(x) * (size or 0.1)
    if 0 <= row < len(x):
        way[row] = 0
    return x, way, (way * g).sum()


def central_difference(
    run: Callable[[], Any], ways: Directions, step: float
) -> tuple[float, float]:
    """Measure a slope by steps to both sides, of one length and of half of
    it, so that what bends is taken out; and by how much it may be off."""
    whole, half = (
        (value_after_step(run, ways, h) - value_after_step(run, ways, -h))
        / (2 * h)
        for h in (step, step / 2)
    )
    return (4 * half - whole) / 3, abs(half - whole)


def value_after_step(
    run: Callable[[], Any], ways: Directions, length: float
) -> float:
    """Give the sum of what a run gives, a step on."""
    for x, way in ways:
        x.add_(way, alpha=length)
    with torch.enable_grad():  # PyTorch's fast paths may give others
        value = random_projection(run).item()
    for x, way in ways:
        x.sub_(way, alpha=length)
    return value


def what_is_cut(subject: Subject) -> tuple[str, str]:
    """Name the first module whose gradient is not its slope, and say how bad
    that is: in a block, it is a bug, unless the module makes steps."""
    path, steps = first_cut(subject)
    says = (
        f". {CUT_HINT}" if path is None else f", first in {path}. {CUT_HINT}"
    )
    if steps:
        return f"{says} {STEPS_MEANT}", UNUSUAL
    model: Any = subject.model
    names = [name for name, _ in model.named_parameters()]
    inside = {found[0] for found in map(LIST_ITEM.match, names) if found}
    asks = (partial(of_weights, subject, path) for path in inside)
    in_block = LIST_ITEM.match(path or "") or not all(
        subject.call(ask, subject.given).right for ask in asks
    )
    return (says, BROKEN) if in_block else (f"{says} {MEANT}", UNUSUAL)


def first_cut(subject: Subject) -> tuple[str | None, bool]:
    """Find the module whose gradient by what it is given is not the slope,
    innermost first, and whether it makes steps; None where there is none."""
    runs: list[tuple] = []

    def hook(
        path: str, part: nn.Module, args: Any, kwargs: Any, _: Any
    ) -> None:
        known = tree_map_only(Tensor, torch.clone, (args, kwargs))
        runs.append((path, part, *known))

    with watch_modules(subject.model, hook):
        subject.run()
    for path, *call in runs:
        try:
            with StepFunctions() as seen:
                ask = partial(of_module, subject)
                found = subject.call(ask, tuple(call))
        except FailedError:
            continue
        if not found.right:
            flat = abs(found.measured) <= NEAR_SLOPE * found.size
            return path or "the model", flat or seen.any
    return None, False


class StepFunctions(TorchFunctionMode):
    """Notice `any` function whose values are steps."""

    any = False

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "").strip("_")
        self.any = self.any or name in STEP_FUNCTIONS
        return function(*args, **(kwargs or {}))


def of_module(
    subject: Subject, part: nn.Module, args: tuple, kwargs: dict
) -> Slope:
    """Find a module's slope by the vectors that it is given."""
    leaves: list[Tensor] = []

    def follow(x: Tensor) -> Tensor:
        usual = x.is_floating_point() and x.ndim > 1 and x.abs().max() < LARGE
        if not usual:
            return x
        leaves.append(x.detach().clone().requires_grad_())
        return leaves[-1]

    args, kwargs = tree_map_only(Tensor, follow, (args, kwargs))
    run = partial(part, *args, **kwargs)
    return slope(partial(at_words, subject, run), leaves, {})
