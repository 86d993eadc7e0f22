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
    (B, T) that were read before it, those that come next in the target, or
    -1, and whether a model gave the logits on."""

    at: int
    logits: Tensor
    read: Tensor
    following: Tensor
    given: bool


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
def loss_run(subject: Subject) -> tuple[Any, list[LogitSite]]:
    """Run the loss as it is: what it gave, and what may be the logits;
    NotJudgedError where it cannot be judged, such as a loss of logits, and
    FailedError for whatever else goes wrong."""
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
    return loss, possible_logits(swap, target)


def possible_logits(swap: LogitSwap, target: Tensor) -> list[LogitSite]:
    """Find what may be the logits of a run: what a model gave, and other
    products of as many words as the last has."""
    outputs = [getattr(x, "logits", x) for x in swap.outputs]
    given = {id(x) for x in tensors(outputs)}
    sites, count = [], 0
    for at, name, x in swap.results:
        is_given, is_product = id(x) in given, name in LOGIT_PRODUCTS
        if not is_given and not is_product:
            continue
        reads = [y for n, ids in swap.reads if n <= at for y in (ids.T, ids)]
        fitting = [ids for ids in reads if row_orders(x, ids)]
        found = [in_target(ids, target) for ids in reversed(fitting)]
        share, ids, later = max(found, key=itemgetter(0), default=(0.0, x, x))
        if share >= 0.5:
            sites.append(LogitSite(at, x.detach(), ids, later, is_given))
            count = x.shape[-1] if is_product else count
    return [x for x in sites if x.given or x.logits.shape[-1] == count]


def in_target(ids: Tensor, target: Tensor) -> tuple[float, Tensor, Tensor]:
    """Find ids (B, T) in rows of the target, perhaps in its own: which share
    of them stands there, the ids, and those that come next, or -1."""
    ids, count = ids.detach().clone().cpu(), ids.shape[1]
    wide = nn.functional.pad(target.cpu(), (1, count), value=-1)
    own = torch.eye(len(ids), len(wide)) / 1000  # of rows alike, take this
    best, following = 0.0, ids
    for start in range(target.shape[1]):
        part = wide[:, start : start + count]
        alike = (ids[:, None] == part).float().mean(-1)
        share, rows = alike.amax(1).mean().item(), (alike + own).argmax(1)
        if share > best:
            best, following = share, wide[rows, start + 1 :][:, :count]
    return best, ids, following


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
    every = [*leaves.values()]
    return with_gradients(subject, LogitSwap(leaves), every, given)


def with_gradients(
    subject: Subject, swap: LogitSwap, of: list[Tensor], given: tuple
) -> tuple[Any, list[Tensor | None]]:
    """Give a loss, and the gradients of some tensors; None for none."""

    def ask(*inputs: Any) -> tuple[Any, list[Tensor | None]]:
        loss = run_loss(subject, swap, *inputs)
        if not isinstance(loss, Tensor) or not loss.requires_grad:
            return loss, [None] * len(of)
        gradients = torch.autograd.grad(loss, of, allow_unused=True)
        return loss.detach(), [*gradients]

    return subject.call(ask, given or subject.given)


def reaches_weights(subject: Subject) -> bool | None:
    """Whether a gradient reaches a parameter; None if none could learn."""
    every: list = getattr(subject.model, "parameters", list)()
    weights = [p for p in every if p.requires_grad]
    if not weights:
        return None
    _, gradients = with_gradients(subject, LogitSwap({}), weights, ())
    return any(x is not None and bool(x.any()) for x in gradients)


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
    word grows; `counts` (B, T) says which positions have any part; and
    `following` (B, T) are the words that come next, or -1.
    """

    site: LogitSite
    words: Tensor
    pulls: Tensor
    counts: Tensor
    following: Tensor


@once
def wanted_words(subject: Subject) -> list[WantedWords]:
    """Find what the loss asks for where all words are equally likely."""
    _, sites = loss_run(subject)
    if not sites:
        return []
    even = {x.at: uniform(x) for x in sites}
    loss, gradients = loss_of_logits(subject, even)
    if isinstance(loss, Tensor) and not loss.isfinite().all():
        raise NotJudgedError(f"The loss is {loss} where all words are alike.")
    moved = [
        (site, gradient)
        for site, gradient in zip(sites, gradients)
        if gradient is not None and gradient.any()
    ]
    given = [pair for pair in moved if pair[0].given]
    if not given and len(moved) > 1:
        return []
    return [in_best_order(*pair) for pair in given or moved]


def labels(subject: Subject) -> list[WantedWords]:
    """Find what the loss asks for; NotJudgedError where nobody can see it."""
    loss, wanted = None, list[WantedWords]()
    with suppress(FailedError):
        loss, _ = loss_run(subject)
        wanted = wanted_words(subject)
    if wanted:
        return wanted
    is_number = isinstance(loss, Tensor) and loss.numel() == 1
    raise NotJudgedError(UNSEEN_WORDS if is_number else LOSS_FAILS)


def in_best_order(site: LogitSite, gradient: Tensor) -> WantedWords:
    """Read a gradient so that most of the words are the next ones."""
    ways = row_orders(site.logits, site.read)
    readings = [wanted_at(site, gradient, rows) for rows in ways]
    return max(readings, key=lambda x: (x.words == x.following).sum().item())


def wanted_at(site: LogitSite, gradient: Tensor, rows: Tensor) -> WantedWords:
    """Read which logits have another gradient than most."""
    flat = gradient.float().cpu().nan_to_num().flatten(0, -2)
    apart = flat[rows] - flat[rows].median(-1, keepdim=True).values
    first, second = apart.abs().topk(2).values.unbind(-1)
    words = apart.abs().argmax(-1)
    pulls = -apart.gather(-1, words[..., None])[..., 0]
    counts = first > 1e-6 * first.max()
    words = words.where(counts & (second < first / 2), -1)
    following = site.following[:, : words.shape[1]]
    return WantedWords(site, words, pulls, counts, following)


def ids_at(asked: WantedWords, offset: int) -> Tensor:
    """Give the ids that were read so many places on: (B, T), or -1."""
    padded = nn.functional.pad(asked.site.read, (2, 2), value=-1)
    return padded[:, 2 + offset :][:, : asked.words.shape[1]]


def share_at(
    subject: Subject, wanted: list[WantedWords], offset: int
) -> float:
    """How many words asked for stand so many places on; 0 if too few."""
    count = right = total = 0
    for asked in wanted:
        there = asked.following if offset == 1 else ids_at(asked, offset)
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
    _, sites = loss_run(subject)
    draw = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(3):
        noise = {
            x.at: torch.randn(x.logits.shape, generator=draw).to(x.logits) * 9
            for x in sites
        }
        losses.append(loss_of_logits(subject, noise)[0])
    return any(float(x) != float(losses[0]) for x in losses)
