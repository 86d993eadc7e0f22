"""Logits of others in the place of the model's own, while its loss runs: which
word the loss asks each position for, seen by its gradient."""

import math
from collections.abc import Iterator
from contextlib import suppress
from functools import partial, wraps
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from shapewatch.properties.inputs import is_id
from shapewatch.properties.perturbation import LOOKUPS, watch_modules
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    once,
)
from shapewatch.tracing.record.tensors import tensors

READS = LOOKUPS | {"one_hot", "index_select"}
LOGIT_PRODUCTS = {"linear", "matmul", "__matmul__", "__rmatmul__", "einsum"}
LOGIT_PRODUCTS |= {"mm", "bmm", "addmm", "baddbmm"}


class LogitSite(NamedTuple):
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


class LogitSwap(TorchFunctionMode):
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


class LossRun(NamedTuple):
    """A run of a loss: what it gave, whether that has a gradient, and the
    calls whose results may be the logits: those that a model gave, and
    others."""

    loss: Any
    given: list[LogitSite]
    others: list[LogitSite]


def observe_loss(subject: Subject) -> LossRun:
    """Run a loss as it is; FailedError for whatever goes wrong."""
    stage, outputs = LogitSwap({}), list[Any]()
    ask = partial(run_loss, subject, stage, outputs)
    loss = subject.call(ask, subject.given)
    given = [x for y in outputs for x in tensors(getattr(y, "logits", y))]
    firsts = {at: x for x in given for at, *_, x in first_same(stage, x)}
    products = [(a, x) for a, name, x in stage.made if name in LOGIT_PRODUCTS]
    target = subject.inputs[-1]
    sites = [*logit_sites(stage, firsts.items(), target)]
    others = [*logit_sites(stage, products, target)]
    if others:
        size = others[-1].logits.shape[-1]
        others = [x for x in others if x.logits.shape[-1] == size]
    loss = loss.detach() if isinstance(loss, Tensor) else loss
    return LossRun(loss, sites, others)


def loss_form(subject: Subject) -> str:
    """Say how a loss is called, and how one of next words may be written."""
    names, ids = ("src, tgt", "tgt") if subject.last else ("ids", "ids")
    return (
        f"loss(model, {names}) is called, as a training step is, and gives a "
        f"scalar: loss=lambda model, {names}: cross_entropy(model({names})"
        f"[:, :-1].flatten(0, 1), {ids}[:, 1:].flatten())."
    )


def run_loss(
    subject: Subject, stage: LogitSwap, outputs: list, *given: Any
) -> Any:
    """Run a loss in training, and note what the model gives."""
    model = subject.model

    def note(path: str, *call: Any) -> None:
        if not path:
            outputs.append(call[-1])

    @wraps(model)
    def noted(*args: Any, **kwargs: Any) -> Any:
        outputs.append(model(*args, **kwargs))
        return outputs[-1]

    called: Any = noted
    if isinstance(model, nn.Module):
        called = model.train()
    inputs, named = subject.handed_on(given)
    with torch.enable_grad(), watch_modules(model, note), stage:
        result = subject.loss(called, *inputs, **named)
    return getattr(result, "loss", result)


def loss_of_logits(
    subject: Subject, puppets: dict[int, Tensor], *given: Any
) -> tuple[Any, list[Tensor | None]]:
    """Give a loss of other logits, and their gradients, if it has any."""
    leaves = {at: x.detach().requires_grad_() for at, x in puppets.items()}

    def ask(*inputs: Any) -> tuple[Any, list[Tensor | None]]:
        loss = run_loss(subject, LogitSwap(leaves), [], *inputs)
        if not isinstance(loss, Tensor) or not loss.requires_grad:
            return loss, [None] * len(leaves)
        return loss.detach(), gradients_of(loss, [*leaves.values()])

    return subject.call(ask, given or subject.given)


def gradients_of(loss: Tensor, leaves: list[Tensor]) -> list[Tensor | None]:
    """Draw the gradients of some tensors, None where there is none."""
    if not leaves:
        return []
    return [*torch.autograd.grad(loss, leaves, allow_unused=True)]


def reaches_weights(subject: Subject) -> bool | None:
    """Whether a gradient reaches a parameter; None if none could learn."""
    every: list = getattr(subject.model, "parameters", list)()
    weights = [p for p in every if p.requires_grad]

    def ask(*inputs: Any) -> bool:
        loss = run_loss(subject, LogitSwap({}), [], *inputs)
        gradients = gradients_of(loss, weights) if loss.requires_grad else []
        return any(x is not None and bool(x.any()) for x in gradients)

    return subject.call(ask, subject.given) if weights else None


def first_same(stage: LogitSwap, x: Tensor) -> list[tuple[int, str, Tensor]]:
    """Find the first call that gave a tensor, or another like it."""
    if not is_rows(x):
        return []
    kind = x.shape, x.dtype
    alike = [m for m in stage.made if (m[2].shape, m[2].dtype) == kind]
    same = [m for m in alike if m[2] is x]
    return (same or [m for m in alike if m[2].equal(x)])[:1]


def logit_sites(
    stage: LogitSwap, candidates: Any, target: Tensor
) -> Iterator[LogitSite]:
    """Find what may be logits, and the ids that stand behind them."""
    for at, x in sorted(candidates, key=lambda one: one[0]):
        reads = [ids for i, ids in stage.reads if i <= at]
        earlier = [y for ids in reads for y in (ids.T, ids)]
        fit = [(likeness(ids, target), ids) for ids in earlier]
        fit = [(n, ids) for n, ids in fit if n >= 0.5 and row_orders(x, ids)]
        if fit:
            ids = max(reversed(fit), key=lambda one: one[0])[1]
            site = at, x.detach(), ids.detach().clone().cpu()
            yield LogitSite(*site, row_orders(x, ids)[0])


def row_orders(x: Tensor, ids: Tensor) -> list[Tensor]:
    """Tell where each position (B, T) may have its row in x (..., V)."""
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
    """Give the share of ids (B, T) that stand in rows of the target."""
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
    decimals = isinstance(x, Tensor) and x.is_floating_point()
    return (
        decimals and not x.is_nested and x.ndim in (2, 3) and x.shape[-1] > 2
    )


def is_ids(x: Tensor) -> bool:
    """Whether a tensor may be ids: (B, T)."""
    number = not (x.is_floating_point() or x.is_complex())
    return number and x.ndim == 2 and x.dtype != torch.bool


NO_LOSS = "There is no loss: give loss=."
LOSS_FAILS = "The loss fails, or is no tensor of one number: see `next_word`."
NO_WORDS = "The last input is no ids: it has no words to ask for."
UNSEEN_WORDS = "It cannot be seen what the loss asks for: see `next_word`."
SUM_TOLERANCE = 0.01  # how far sums of what are probabilities may be from 1


class WantedWords(NamedTuple):
    """What a loss asks of the logits of one site.

    `words` (B, T) are those that it wants, -1 where it asks for none, or for
    more than one; `pulls` (B, T) how much the loss falls as the logit of that
    word grows; `counts` (B, T) says which positions have any part.
    """

    site: LogitSite
    words: Tensor
    pulls: Tensor
    counts: Tensor


@once
def loss_run(subject: Subject) -> LossRun:
    """Run the loss as it is; NotJudgedError where it cannot be judged."""
    if subject.loss is None:
        raise NotJudgedError(f"{NO_LOSS} {loss_form(subject)}")
    target = subject.inputs[-1]
    if target.is_floating_point() or target.ndim != 2:
        raise NotJudgedError(NO_WORDS)
    if target.shape[1] < 2:
        raise NotJudgedError("There is one position only: no word is next.")
    return observe_loss(subject)


@once
def wanted_words(subject: Subject) -> list[WantedWords]:
    """Find what the loss asks for where all words are equally likely."""
    run = loss_run(subject)
    places = {site.at: site for site in run.others + run.given}
    even = {at: uniform(site) for at, site in places.items()}
    loss, gradients = loss_of_logits(subject, even)
    if isinstance(loss, Tensor) and not loss.isfinite().all():
        raise NotJudgedError(f"The loss is {loss} where all words are alike.")
    pulls = dict(zip(even, gradients))
    for group in (run.given, run.others):
        pairs = [(x, pulls[x.at]) for x in group]
        alive = [(x, pull) for x, pull in pairs if pull is not None]
        judged = [in_best_order(x, pull) for x, pull in alive if pull.any()]
        if judged and (group is run.given or len(judged) == 1):
            return judged
    return []


def labels(subject: Subject) -> list[WantedWords]:
    """Find what the loss asks for; NotJudgedError where nobody can see it."""
    loss, wanted = None, list[WantedWords]()
    with suppress(FailedError):
        loss = loss_run(subject).loss
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        raise NotJudgedError(LOSS_FAILS)
    with suppress(FailedError):
        wanted = wanted_words(subject)
    if not wanted:
        raise NotJudgedError(UNSEEN_WORDS)
    return wanted


def in_best_order(site: LogitSite, gradient: Tensor) -> WantedWords:
    """Read a gradient so that most of the words are the next ones."""
    ways = row_orders(site.logits, site.read)
    readings = [wanted_at(site._replace(rows=way), gradient) for way in ways]
    right = [(x.words == ids_at(x, 1)).sum().item() for x in readings]
    return readings[right.index(max(right))]


def wanted_at(site: LogitSite, gradient: Tensor) -> WantedWords:
    """Read which logits have another gradient than most."""
    gradient = site.sorted(gradient).float().cpu().nan_to_num()
    apart = gradient - gradient.median(-1, keepdim=True).values
    first, second = apart.abs().topk(2).values.unbind(-1)
    words = apart.abs().argmax(-1)
    pulls = -apart.gather(-1, words[..., None])[..., 0]
    counts = first > 1e-6 * first.max()
    single = counts & (second < first / 2)
    return WantedWords(site, words.where(single, -1), pulls, counts)


def ids_at(asked: WantedWords, offset: int) -> Tensor:
    """Give the ids that were read so many places on: (B, T), or -1."""
    places = torch.arange(asked.words.shape[1]) + offset
    inside = (places >= 0) & (places < asked.site.read.shape[1])
    last = asked.site.read.shape[1] - 1
    return asked.site.read[:, places.clamp(0, last)].where(inside, -1)


def next_ids(subject: Subject, asked: WantedWords) -> Tensor:
    """Give the ids that come next in the target: (B, T), or -1."""
    following, read = ids_at(asked, 1), asked.site.read
    target, count = subject.inputs[-1].cpu(), read.shape[1]
    likest, places = 0.5, following.shape[1]
    for start in range(target.shape[1] - count + 1):
        part = target[:, start : start + count]
        if part.shape != read.shape:
            continue
        alike = (part == read).float().mean().item()
        if alike > likest:
            later = nn.functional.pad(target[:, start + 1 :], (0, 1), value=-1)
            likest, following = alike, later[:, :places]
    return following


def share_at(
    subject: Subject, wanted: list[WantedWords], offset: int
) -> float:
    """How many words asked for stand so many places on; 0 if too few."""
    count = right = total = 0
    for asked in wanted:
        next_ones = next_ids(subject, asked)
        there = next_ones if offset == 1 else ids_at(asked, offset)
        judged = (asked.words >= 0) & (there >= 0)
        judged &= ~is_id(there, subject.ids[0])
        count, total = count + int(judged.sum()), total + asked.words.shape[1]
        right += int((asked.words == there)[judged].sum())
    return right / count if 2 * count >= min(total, 4) else 0.0


def uniform(site: LogitSite) -> Tensor:
    """Make logits for which all words are equally likely."""
    size = site.logits.shape[-1]
    return as_spoken(site, torch.full_like(site.logits, -math.log(size)))


def as_spoken(site: LogitSite, x: Tensor) -> Tensor:
    """Say log-probabilities as the model does: some give probabilities."""
    return x.exp() if speaks(site) == "probabilities" else x


def speaks(site: LogitSite) -> str:
    """Tell whether a model gives probabilities, their logarithms or logits."""
    x = site.logits.float()
    x = x[(x < torch.inf).all(-1)]
    if not len(x):
        return "logits"
    if ((x.sum(-1) - 1).abs() < SUM_TOLERANCE).all() and (x >= 0).all():
        return "probabilities"
    if (x.logsumexp(-1).abs() < SUM_TOLERANCE).all():
        return "log-probabilities"
    return "logits"


def as_logits(
    wanted: list[WantedWords], rows: list[Tensor]
) -> dict[int, Tensor]:
    """Lay log-probabilities (B, T, V) out as the model's logits are."""
    pairs = [(asked.site, x) for asked, x in zip(wanted, rows)]
    return {x.at: as_spoken(x, x.laid(y)) for x, y in pairs}


def depends_on_logits(subject: Subject) -> bool:
    """Whether the loss is another one for other logits."""
    run = loss_run(subject)
    draw = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(3):
        noise = {
            x.at: torch.randn(x.logits.shape, generator=draw).to(x.logits) * 9
            for x in run.others + run.given
        }
        losses.append(loss_of_logits(subject, noise)[0])
    return any(float(x) != float(losses[0]) for x in losses)
