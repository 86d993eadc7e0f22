"""Gradients: which parameters one flows into, how large it is, and whether it
is what a small step of the weights measures."""

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
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
    with_moved_weights,
)
from shapewatch.tracing.record.state import seed_all
from shapewatch.tracing.record.tensors import tensors


def largest_size(_: Tensor, g: Tensor) -> float:
    """Give the largest size of the numbers of a tensor's gradient."""
    if not g.numel():
        return 0.0
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
    except FailedError as error:
        if "use_reentrant" in str(error):  # of torch.utils.checkpoint
            raise NotJudgedError(str(error)) from error
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
    made = [x for x in outer_tensors(result) if x.grad_fn is not None]
    change(made)
    found, pulls = leaves(made), [torch.randn_like(x) for x in made]
    return take_gradients(made, pulls, found, take)


def outer_tensors(result: Any) -> list[Tensor]:
    """List the tensors that a model gives, without what lies deeper beside
    others: a cache's keys and values are no outputs."""
    parts = result.values() if isinstance(result, Mapping) else result
    some = isinstance(result, Mapping | tuple | list)
    outer = [x for x in parts if isinstance(x, Tensor)] if some else []
    return outer or tensors(result) or [find_output(result)]


def take_gradients(
    outputs: list[Tensor],
    pulls: list[Any],
    found: list[Tensor],
    take: Callable[[Tensor, Tensor], Any],
) -> dict[Tensor, Any]:
    """Draw gradients, and take of each what matters as soon as it is there:
    all at once they are as large as the model."""
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
FINE, ROUGH = 1e-4, 1e-2  # errors that a step may have, of a slope's scale
APART = 5e-4  # of a slope's scale: nearer than that, they are one
LIST_ITEM = re.compile(r"(.*?\.)?\d+(\.|$)")  # a part of a list
STEP_FUNCTIONS = {"round", "floor", "ceil", "sign", "argmax", "argmin", "topk"}
STEP_FUNCTIONS |= {"bernoulli", "multinomial", "heaviside", "fake_quantize"}
NO_SLOPE = "No slope can be measured: none is there, or it is not smooth."


class Slope(NamedTuple):
    """A slope in a random direction: as the gradient has it; as a step has
    it, which may be off by an error; and how large its parts are."""

    of_gradient: float
    of_step: float
    error: float
    scale: float

    @property
    def agrees(self) -> bool:
        """Whether the two are one, as far as can be told."""
        apart = abs(self.of_gradient - self.of_step)
        return not apart > max(10 * self.error, APART * self.scale)


@check
def exact_gradients(subject: Subject) -> Verdict:
    """See whether the gradient of a random sum of the outputs, by all
    weights that have one, is the slope that a small step of these measures.

    It is reckoned in double precision, on a copy.
    """
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function has no parameters.")
    for some in dict.fromkeys((few_outputs(subject), subject)):
        double = in_double(some)
        slope = slope_in_double(double)
        if not slope.agrees:  # an offset of 0 may stand where ReLU bends
            double = with_moved_weights(double, 0.01, 0)
            slope = slope_in_double(double)
        fine = slope.error <= ROUGH * slope.scale
        if slope.agrees and fine:  # few outputs show it
            break
    if not fine:
        raise NotJudgedError(NO_SLOPE)
    seen = torch.tensor([slope[:2]])
    if slope.agrees:
        says = "A small step of the weights moves the outputs as gradients "
        return True, f"{says}say.", seen
    where, level = first_cut(double)
    share = abs(slope.of_gradient - slope.of_step) / slope.scale
    says = "A small step of the weights moves the outputs otherwise than the "
    says += f"gradients say ({share:.1%} apart){where}"
    return False, says, seen, level


def slope_in_double(double: Subject) -> Slope:
    """Find the slope by all weights; NotJudgedError where none is drawn."""
    try:
        return double.call(partial(slope_by_weights, double, ""), double.given)
    except FailedError as error:
        says = f"No gradient can be drawn in double precision: {error}"
        raise NotJudgedError(says) from error


def slope_by_weights(subject: Subject, inside: str, *given: Any) -> Slope:
    """Find the slope by the weights in paths that begin so."""
    named = subject.model.named_parameters()
    weights = [p for name, p in named if name.startswith(inside)]
    padding = {
        part.weight: part.padding_idx
        for part in subject.model.modules()
        if isinstance(part, nn.Embedding) and part.padding_idx is not None
    }
    return slope_by(subject, partial(subject.made, *given), weights, padding)


def slope_by_inputs(
    subject: Subject, part: nn.Module, args: tuple, kwargs: dict
) -> Slope:
    """Find a module's slope by the vectors that it is given: not by what
    hides scores, which is larger than any number of a model."""
    vectors: list[Tensor] = []

    def follow(x: Tensor) -> Tensor:
        if x.is_floating_point() and x.ndim > 1 and x.abs().max() < 1e4:
            x = x.detach().clone().requires_grad_()
            vectors.append(x)
        return x

    args, kwargs = tree_map_only(Tensor, follow, (args, kwargs))
    return slope_by(subject, partial(part, *args, **kwargs), vectors, {})


def slope_by(
    subject: Subject,
    run: Callable[[], Any],
    leaves: list[Tensor],
    padding: dict[Tensor, int],
) -> Slope:
    """Find the slope of a random sum of what a run gives, in a random
    direction of the leaves that get a gradient, but for rows of padding."""
    project = partial(random_projection, subject, run)
    with torch.enable_grad():
        value = project()

    def along(x: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, row = x.detach(), padding.get(x)
        draw = torch.Generator().manual_seed(x.numel())
        size = x.square().mean().sqrt().item() or 0.1
        way = torch.randn(x.shape, generator=draw).to(x) * size
        if row is not None:
            way[row] = 0
        return x, way, (way * g).sum()

    some = [x for x in leaves if x.requires_grad]
    known = [*take_gradients([value], [None], some, along).values()]
    if not known:
        return Slope(0.0, 0.0, torch.inf, 0.0)
    parts = torch.stack([part for *_, part in known])
    of_gradient, scale = parts.sum().item(), parts.norm().item()
    moved = partial(value_after_step, project, [pair[:2] for pair in known])
    rise = (moved(STEPS[0]) - value.item()) / STEPS[0]
    if abs(of_gradient - rise) <= 1e-5 * scale:  # not so alike by chance
        return Slope(of_gradient, rise, 0.0, scale)
    return finite_difference(moved, of_gradient, scale)


def random_projection(subject: Subject, run: Callable[[], Any]) -> Tensor:
    """Run, and sum up what comes out, with the same random weights; but not
    at padding, where a mask of large numbers may swallow the scores."""
    seed_all(0)
    real, total = subject.real[-1], torch.zeros(())
    draw = torch.Generator().manual_seed(0)
    for x in tensors(run()):
        x = x[real] if x.shape[:2] == real.shape else x
        if x.is_floating_point():
            x = x[x.isfinite()].double()
            total = total + x @ torch.randn(len(x), generator=draw).to(x)
    return total


def value_after_step(
    project: Callable[[], Tensor],
    directions: list[tuple[Tensor, Tensor]],
    step: float,
) -> float:
    """Give the sum of what a run gives, a step on in some directions."""
    for x, way in directions:
        x.add_(way, alpha=step)
    with torch.enable_grad():  # PyTorch's fast paths may give others
        value = project().item()
    for x, way in directions:
        x.sub_(way, alpha=step)
    return value


def finite_difference(
    moved: Callable[[float], float], of_gradient: float, scale: float
) -> Slope:
    """Measure a slope by steps of several lengths, since some bend and some
    round: the right ones count among those that are fine, or not too rough.
    """
    found, rounding = list[Slope](), 0.0
    for step in STEPS:  # to both sides, and of half the length: it may bend
        whole = (moved(step) - moved(-step)) / (2 * step)
        half = (moved(step / 2) - moved(-step / 2)) / step
        value, error = (4 * half - whole) / 3, abs(half - whole)
        found.append(Slope(of_gradient, value, max(error, rounding), scale))
        if found[-1].error <= FINE * scale and found[-1].agrees:
            break
        rounding = error / 30  # at the next step, if it did round
    for most in (FINE, ROUGH):
        if fine := [one for one in found if one.error <= most * scale]:
            return next((one for one in fine if one.agrees), fine[0])
    return min(found, key=lambda one: one.error)


def first_cut(subject: Subject) -> tuple[str, str]:
    """Name the first module whose gradient is not its slope, and say how bad
    that is: in a block, it is a bug, unless the module makes steps."""
    path, why = cut_module(subject)
    says = f", first in {path}" if path else ""
    says += ". Look for .detach(), .data, torch.no_grad() and torch.tensor(x)."
    if why:
        return f"{says} {why}", UNUSUAL
    names = [name for name, _ in subject.model.named_parameters()]
    items = {found[0] for found in map(LIST_ITEM.match, names) if found}
    asks = (partial(slope_by_weights, subject, item) for item in items)
    if LIST_ITEM.match(path) or not all(
        subject.call(ask, subject.given).agrees for ask in asks
    ):
        return says, BROKEN
    return f"{says} No block is touched, so that may be meant.", UNUSUAL


STEPS_MEANT = (
    "It gives steps, so that may be meant (a straight-through gradient)."
)


def cut_module(subject: Subject) -> tuple[str, str]:
    """Find the module whose gradient by what it is given is not the slope,
    innermost first, and why that may be meant; "" where there is none."""
    runs: list[tuple] = []

    def note(path: str, part: nn.Module, *call: Any) -> None:
        known = tree_map_only(Tensor, torch.clone, call[:2])
        runs.append((path or "the model", part, *known))

    with watch_modules(subject.model, note):
        subject.run()
    for path, *call in runs:
        with suppress(FailedError), StepFunctions() as seen:
            ask = partial(slope_by_inputs, subject)
            slope = subject.call(ask, tuple(call))
            if not slope.agrees:
                flat = abs(slope.of_step) <= 1e-5 * slope.scale
                own = subject.call(own_backward, tuple(call))
                return path, own or (STEPS_MEANT if flat or seen.any else "")
    return "", subject.call(own_backward, (subject.model, subject.given, {}))


def own_backward(part: nn.Module, args: tuple, kwargs: dict) -> str:
    """Name an autograd.Function that a module calls, whose backward is its
    author's; or ""."""
    with torch.enable_grad():
        made = [x for x in tensors(part(*args, **kwargs)) if x.grad_fn]
    for node in graph_nodes(made):
        kind = getattr(node, "_forward_cls", None)
        if kind and not kind.__module__.startswith("torch."):
            return (
                f"{kind.__name__} has a backward of its own, so that may be "
                "meant; if not, compare it with its forward."
            )
    return ""


class StepFunctions(TorchFunctionMode):
    """Notice `any` function whose values are steps."""

    any = False

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "").strip("_")
        self.any = self.any or name in STEP_FUNCTIONS
        return function(*args, **(kwargs or {}))
