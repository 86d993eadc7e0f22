"""Logits of others in the place of the model's own, while its loss runs: which
word the loss asks each position for, seen by its gradient."""

import math
from contextlib import suppress
from functools import partial, wraps
from operator import itemgetter
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from shapewatch.properties.inputs import is_id
from shapewatch.properties.outputs import FailedError
from shapewatch.properties.perturbation import LOOKUPS, watch_modules
from shapewatch.properties.subject import NotJudgedError, Subject, once
from shapewatch.tracing.record.tensors import tensors

READS = LOOKUPS | {"one_hot", "index_select"}
LOGIT_PRODUCTS = {"linear", "matmul", "__matmul__", "__rmatmul__", "einsum"}
LOGIT_PRODUCTS |= {"mm", "bmm", "addmm", "baddbmm"}
NO_LOSS = "There is no loss: give loss=."
LOSS_FAILS = "The loss fails, or is not one number: see `next_word`."
NO_WORDS = "The last input is not ids: there are no target words."
UNSEEN_WORDS = "The targets of the loss cannot be seen: see `next_word`."


class LogitSite(NamedTuple):
    """A call that makes logits: its number in the run, what it gave, the ids
    (B, T) that were read before it, and where each of their positions has
    its row: (B, T), or one position less."""

    at: int
    logits: Tensor
    read: Tensor
    rows: Tensor


class LogitSwap(TorchFunctionMode):
    """Number the calls of torch functions, and put tensors in the place of
    what some of them give. Keep the ids that are read, what may be logits,
    with the name of the call that gave it, and what the model gives."""

    def __init__(self, puppets: dict[int, Tensor]):
        super().__init__()
        self.puppets, self.count = puppets, 0
        self.reads: list[tuple[int, Tensor]] = []
        self.results: list[tuple[int, str, Tensor]] = []
        self.outputs: list[Any] = []

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
            self.results.append((at, name, result))
        return result


class LossRun(NamedTuple):
    """A run of a loss: what it gave, whether that has a gradient, and the
    calls whose results may be the logits: those that a model gave, and
    other products."""

    loss: Any
    given: list[LogitSite]
    others: list[LogitSite]


def run_loss(subject: Subject, swap: LogitSwap, *given: Any) -> Any:
    """Run a loss in training, and note what the model gives."""
    model = subject.model

    def note(path: str, *call: Any) -> None:
        if not path:
            swap.outputs.append(call[-1])

    @wraps(model)
    def noted(*args: Any, **kwargs: Any) -> Any:
        swap.outputs.append(model(*args, **kwargs))
        return swap.outputs[-1]

    called: Any = model.train() if isinstance(model, nn.Module) else noted
    inputs, named = subject.handed_on(given)
    with torch.enable_grad(), watch_modules(model, note), swap:
        result = subject.loss(called, *inputs, **named)
    return getattr(result, "loss", result)


@once
def loss_run(subject: Subject) -> LossRun:
    """Run the loss as it is; NotJudgedError where it cannot be judged, such
    as one of logits, and FailedError for whatever else goes wrong."""
    if subject.loss is None:
        raise NotJudgedError(f"{NO_LOSS} {loss_form(subject)}")
    target = subject.inputs[-1]
    if target.is_floating_point() or target.ndim != 2:
        raise NotJudgedError(NO_WORDS)
    if target.shape[1] < 2:
        raise NotJudgedError("There is only one position, and no next word.")
    swap = LogitSwap({})
    try:
        loss = subject.call(partial(run_loss, subject, swap), subject.given)
    except FailedError as error:
        if swap.reads or swap.results:
            raise
        name = getattr(subject.loss, "__name__", type(subject.loss).__name__)
        says = f"loss={name} fails before the model runs ({error}). Give a "
        says += f"function of the model, not of logits. {loss_form(subject)}"
        raise NotJudgedError(says) from error
    loss = loss.detach() if isinstance(loss, Tensor) else loss
    return LossRun(loss, *possible_logits(swap, target))


def possible_logits(
    swap: LogitSwap, target: Tensor
) -> tuple[list[LogitSite], list[LogitSite]]:
    """Find what may be the logits of a run: of what the model gave; and of
    other products, those of as many words as the last has."""
    gave = [x for y in swap.outputs for x in tensors(getattr(y, "logits", y))]
    by_model = dict(call for x in gave for call in first_same(swap, x))
    products = {n: x for n, name, x in swap.results if name in LOGIT_PRODUCTS}
    given = logit_sites(swap, by_model, target)
    others = logit_sites(swap, products, target)
    sizes = [site.logits.shape[-1] for site in others]
    return given, [x for x, n in zip(others, sizes) if n == sizes[-1]]


def loss_form(subject: Subject) -> str:
    """Say how a loss is called, and how one of next words may be written."""
    names, ids = ("src, tgt", "tgt") if subject.last else ("ids", "ids")
    return (
        f"loss(model, {names}) is called as in a training step and returns a "
        f"scalar: loss=lambda model, {names}: cross_entropy(model({names})[:, "
        f":-1].flatten(0, 1), {ids}[:, 1:].flatten())."
    )


def loss_of_logits(
    subject: Subject, puppets: dict[int, Tensor], *given: Any
) -> tuple[Any, list[Tensor | None]]:
    """Give a loss of other logits, and their gradients, if it has any."""
    leaves = {at: x.detach().requires_grad_() for at, x in puppets.items()}

    def ask(*inputs: Any) -> tuple[Any, list[Tensor | None]]:
        loss = run_loss(subject, LogitSwap(leaves), *inputs)
        if not isinstance(loss, Tensor) or not loss.requires_grad:
            return loss, [None] * len(leaves)
        return loss.detach(), gradients_of(loss, [*leaves.values()])

    return subject.call(ask, given or subject.given)


def gradients_of(loss: Tensor, leaves: list[Tensor]) -> list[Tensor | None]:
    """Draw the gradients of some tensors, None where there is none."""
    return [*torch.autograd.grad(loss, leaves, allow_unused=True)]


def reaches_weights(subject: Subject) -> bool | None:
    """Whether a gradient reaches a parameter; None if none could learn."""
    every: list = getattr(subject.model, "parameters", list)()
    weights = [p for p in every if p.requires_grad]

    def ask(*inputs: Any) -> bool:
        loss = run_loss(subject, LogitSwap({}), *inputs)
        gradients = gradients_of(loss, weights) if loss.requires_grad else []
        return any(x is not None and bool(x.any()) for x in gradients)

    return subject.call(ask, subject.given) if weights else None


def first_same(swap: LogitSwap, x: Tensor) -> list[tuple[int, Tensor]]:
    """Find the first call that gave a tensor, or another like it."""
    if not is_rows(x):
        return []
    kind = x.shape, x.dtype
    alike = [(n, y) for n, _, y in swap.results if (y.shape, y.dtype) == kind]
    same = [call for call in alike if call[1] is x]
    return (same or [call for call in alike if call[1].equal(x)])[:1]


def logit_sites(
    swap: LogitSwap, candidates: dict[int, Tensor], target: Tensor
) -> list[LogitSite]:
    """Find what may be logits, and the ids that stand behind them: of those
    that are most like the target, the last."""
    sites = []
    for at, x in sorted(candidates.items(), key=itemgetter(0)):
        reads = [y for n, ids in swap.reads if n <= at for y in (ids.T, ids)]
        shares = [
            (likeness(ids, target), n)
            for n, ids in enumerate(reads)
            if row_orders(x, ids)
        ]
        share, nth = max(shares, default=(0.0, 0))
        if share >= 0.5:
            ids = reads[nth].detach().clone().cpu()
            rows = row_orders(x, ids)[0]
            sites.append(LogitSite(at, x.detach(), ids, rows))
    return sites


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
    if not isinstance(x, Tensor) or x.is_nested or not x.is_floating_point():
        return False
    return x.ndim in (2, 3) and x.shape[-1] > 2


def is_ids(x: Tensor) -> bool:
    """Whether a tensor may be ids: (B, T)."""
    number = not (x.is_floating_point() or x.is_complex())
    return number and x.ndim == 2 and x.dtype != torch.bool


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
def wanted_words(subject: Subject) -> list[WantedWords]:
    """Find what the loss asks for where all words are equally likely."""
    run = loss_run(subject)
    sites = {site.at: site for site in run.others + run.given}
    if not sites:
        return []
    even = {at: uniform(site) for at, site in sites.items()}
    loss, gradients = loss_of_logits(subject, even)
    if isinstance(loss, Tensor) and not loss.isfinite().all():
        raise NotJudgedError(f"The loss is {loss} where all words are alike.")
    pulls = {at: x for at, x in zip(even, gradients) if x is not None}
    for group in (run.given, run.others):
        moved = [x for x in group if x.at in pulls and pulls[x.at].any()]
        if moved and (group is run.given or len(moved) == 1):
            return [in_best_order(x, pulls[x.at]) for x in moved]
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
    rows = gradient.float().cpu().nan_to_num().flatten(0, -2)
    gradient = rows[site.rows]  # (B, T, V)
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
    return torch.full_like(site.logits, -math.log(site.logits.shape[-1]))


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
