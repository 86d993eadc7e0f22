"""Puppets: logits that stand in for the model's own while its loss runs.

The loss is run as it is, and the logits that it reads are others. What it
asks for is seen by its gradient: where all words are equally likely, it pulls
at the one word that should come, at each position that counts.
"""

from collections.abc import Iterator
from functools import partial, wraps
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from shapewatch.properties.pushing import LOOKUPS
from shapewatch.properties.reach import watch
from shapewatch.properties.subject import Subject
from shapewatch.tracing.record.tensors import tensors

READS = LOOKUPS | {"one_hot", "index_select"}
PRODUCTS = {"linear", "matmul", "__matmul__", "__rmatmul__", "einsum"}
PRODUCTS |= {"mm", "bmm", "addmm", "baddbmm"}


class Site(NamedTuple):
    """A call that makes logits: its number in the run, what it gave, the ids
    (B, T) that were read before it, and where each of their positions has
    its row: (B, T), or one position less."""

    at: int
    logits: Tensor
    read: Tensor
    rows: Tensor

    def sorted(self, x: Tensor) -> Tensor:
        """Sort what is shaped as the logits by rows: -> (B, T, V)."""
        return x.reshape(-1, x.shape[-1])[self.rows.to(x.device)]

    def laid(self, x: Tensor) -> Tensor:
        """Lay (B, T, V) out as the logits are."""
        flat = torch.empty_like(x.flatten(0, 1))
        flat[self.rows.flatten()] = x.flatten(0, 1)
        return flat.reshape(self.logits.shape).to(self.logits)


class Stage(TorchFunctionMode):
    """Number the calls of torch functions, and put tensors in the place of
    what some of them give; keep what was read, and what was made."""

    def __init__(self, puppets: dict[int, Tensor]):
        super().__init__()
        self.puppets, self.count = puppets, 0
        self.reads: list[tuple[int, Tensor]] = []
        self.made: list[tuple[int, str, Tensor]] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name, at = getattr(function, "__name__", ""), self.count
        self.count += 1
        if at in self.puppets:
            return self.puppets[at].clone()
        if name in READS:
            ids = (x for x in args if isinstance(x, Tensor))
            self.reads += [(at, x) for x in ids if is_ids(x)]
        if not self.puppets and is_rows(result):
            self.made.append((at, name, result))
        return result


class Scene(NamedTuple):
    """A run of a loss: what it gave, whether that has a gradient, and the
    calls whose results may be the logits: those that a model gave, and
    others."""

    loss: Any
    given: list[Site]
    others: list[Site]


def scene(subject: Subject) -> Scene:
    """Run a loss as it is; FailedError for whatever goes wrong."""
    stage, outputs = Stage({}), list[Any]()
    ask = partial(play, subject, stage, outputs)
    loss = subject.call(ask, subject.given)
    given = [x for y in outputs for x in tensors(getattr(y, "logits", y))]
    firsts = {at: x for x in given for at, *_, x in first_same(stage, x)}
    products = [(a, x) for a, name, x in stage.made if name in PRODUCTS]
    target = subject.inputs[-1]
    found = [*sites(stage, firsts.items(), target)]
    others = [*sites(stage, products, target)]
    if others:
        size = others[-1].logits.shape[-1]
        others = [x for x in others if x.logits.shape[-1] == size]
    loss = loss.detach() if isinstance(loss, Tensor) else loss
    return Scene(loss, found, others)


def play(subject: Subject, stage: Stage, outputs: list, *given: Any) -> Any:
    """Run a loss in training, and note what the model gives."""
    model: Any = subject.model

    def note(path: str, *call: Any) -> None:
        if not path:
            outputs.append(call[-1])

    @wraps(model)
    def noted(*args: Any, **kwargs: Any) -> Any:
        outputs.append(model(*args, **kwargs))
        return outputs[-1]

    whole = isinstance(model, nn.Module)
    if whole:
        model.train()
    ask: Any = subject.loss
    with torch.enable_grad(), watch(model, note), stage:
        result = ask(model if whole else noted, *given)
    return getattr(result, "loss", result)


def played(
    subject: Subject, puppets: dict[int, Tensor], *given: Any
) -> tuple[Any, list[Tensor | None]]:
    """Run a loss with logits of others: what it gives, and the gradients of
    the logits, where it has any."""
    own = {at: x.detach().requires_grad_() for at, x in puppets.items()}

    def ask(*inputs: Any) -> tuple[Any, list[Tensor | None]]:
        loss = play(subject, Stage(own), [], *inputs)
        if not isinstance(loss, Tensor) or not loss.requires_grad:
            return loss, [None] * len(own)
        return loss.detach(), drawn(loss, [*own.values()])

    return subject.call(ask, given or subject.given)


def drawn(loss: Tensor, leaves: list[Tensor]) -> list[Tensor | None]:
    """Draw the gradients of some tensors, None where there is none."""
    if not leaves:
        return []
    return [*torch.autograd.grad(loss, leaves, allow_unused=True)]


def reaches_weights(subject: Subject) -> bool | None:
    """Whether a gradient of the loss reaches a parameter of the model; None
    where the model has none that could learn."""
    own: Any = getattr(subject.model, "parameters", list)
    weights = [p for p in own() if p.requires_grad]

    def ask(*inputs: Any) -> bool:
        loss = play(subject, Stage({}), [], *inputs)
        found = drawn(loss, weights) if loss.requires_grad else []
        return any(x is not None and bool(x.any()) for x in found)

    return subject.call(ask, subject.given) if weights else None


def first_same(stage: Stage, x: Tensor) -> list[tuple[int, str, Tensor]]:
    """Find the first call that gave a tensor, or another like it."""
    if not is_rows(x):
        return []
    kind = x.shape, x.dtype
    alike = [m for m in stage.made if (m[2].shape, m[2].dtype) == kind]
    found = [m for m in alike if m[2] is x]
    return (found or [m for m in alike if m[2].equal(x)])[:1]


def sites(stage: Stage, made: Any, target: Tensor) -> Iterator[Site]:
    """Find the ids that stand behind what may be logits; leave out what has
    no row for each of them."""
    for at, x in sorted(made, key=lambda one: one[0]):
        reads = [ids for i, ids in stage.reads if i <= at]
        earlier = [y for ids in reads for y in (ids.T, ids)]
        fit = [(likeness(ids, target), ids) for ids in earlier]
        fit = [(n, ids) for n, ids in fit if n >= 0.5 and rows(x, ids)]
        if fit:
            ids = max(reversed(fit), key=lambda one: one[0])[1]
            site = at, x.detach(), ids.detach().clone().cpu()
            yield Site(*site, rows(x, ids)[0])


def rows(x: Tensor, ids: Tensor) -> list[Tensor]:
    """Tell where each position (B, T) of ids has its row in x (..., V), in
    the ways that are possible. The last position may have none."""
    b, t = ids.shape
    lead = tuple(x.shape[:-1])
    numbers = torch.arange(x.shape[:-1].numel())
    for count in (t, t - 1):
        if not count or len(numbers) != b * count:
            continue
        by_row, by_position = numbers.view(b, -1), numbers.view(-1, b).T
        if lead == (b, count):
            return [by_row]
        if lead == (count, b):
            return [by_position]
        if len(lead) == 1:
            return [by_row, by_position]
    return []


def likeness(ids: Tensor, target: Tensor) -> float:
    """Give the share of ids (B, T) that stand in rows of the target, moved by
    one place or cut."""
    ids, target = ids.cpu(), target.cpu()
    count, best = ids.shape[1], 0.0
    for start in range(-1, target.shape[1]):
        part = target[:, max(start, 0) :][:, : count - max(-start, 0)]
        mine = ids[:, max(-start, 0) :][:, : part.shape[1]]
        if 2 * part.shape[1] >= count and part.shape[1]:
            alike = (mine[:, None] == part[None]).float().mean(-1)
            best = max(best, alike.amax(1).mean().item())
    return best


def is_rows(x: Any) -> bool:
    """Whether something may be logits: (B, T, V) or (B T, V)."""
    whole = isinstance(x, Tensor) and x.is_floating_point()
    return whole and not x.is_nested and x.ndim in (2, 3) and x.shape[-1] > 2


def is_ids(x: Tensor) -> bool:
    """Whether a tensor may be ids: (B, T)."""
    number = not (x.is_floating_point() or x.is_complex())
    return number and x.ndim == 2 and x.dtype != torch.bool
