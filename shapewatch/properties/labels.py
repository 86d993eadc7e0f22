"""Labels: which word a loss asks each position for, seen by its gradient.

Where all words are equally likely, it pulls at the one that should come, at
each position that counts.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from shapewatch.properties.puppets import Scene, Site, played, rows, scene
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    is_id,
    once,
)

NO_LOSS = "There is no loss: give loss=, called as loss(model, *inputs)."
NO_WORDS = "The last input is no ids: it has no words to ask for."
UNSEEN = "It cannot be seen what the loss asks for: see `loss_gradient`."
NEAR = 0.01  # how far sums of what are probabilities may be from 1


class Asked(NamedTuple):
    """What a loss asks of the logits of one site.

    `words` (B, T) are those that it wants, -1 where it asks for none, or for
    more than one; `pulls` (B, T) how much the loss falls as the logit of that
    word grows; `counts` (B, T) says which positions have any part.
    """

    site: Site
    words: Tensor
    pulls: Tensor
    counts: Tensor


@once
def staged(subject: Subject) -> Scene:
    """Run the loss as it is; NotJudgedError where there is none, or nothing
    that it could be judged by."""
    if subject.loss is None:
        raise NotJudgedError(NO_LOSS)
    target = subject.inputs[-1]
    if target.is_floating_point() or target.ndim != 2:
        raise NotJudgedError(NO_WORDS)
    if target.shape[1] < 2:
        raise NotJudgedError("There is one position only: no word is next.")
    return scene(subject)


@once
def asked(subject: Subject) -> list[Asked]:
    """Find what the loss asks for where all words are equally likely, at each
    call of the model; nothing, where no gradient reaches logits."""
    seen = staged(subject)
    places = {site.at: site for site in seen.others + seen.given}
    even = {at: uniform(site) for at, site in places.items()}
    loss, gradients = played(subject, even)
    if isinstance(loss, Tensor) and not loss.isfinite().all():
        raise NotJudgedError(f"The loss is {loss} where all words are alike.")
    pulls = dict(zip(even, gradients))
    for group in (seen.given, seen.others):
        found = [(x, pulls[x.at]) for x in group]
        alive = [(x, pull) for x, pull in found if pull is not None]
        judged = [in_order(x, pull) for x, pull in alive if pull.any()]
        if judged and (group is seen.given or len(judged) == 1):
            return judged
    return []


def labels(subject: Subject) -> list[Asked]:
    """Find what the loss asks for; NotJudgedError where nobody can see it."""
    try:
        found = asked(subject)
    except FailedError as error:
        raise NotJudgedError(UNSEEN) from error
    if not found:
        raise NotJudgedError(UNSEEN)
    return found


def in_order(site: Site, gradient: Tensor) -> Asked:
    """Read a gradient; of logits (B T, V) in the order of rows in which most
    words are the next ones."""
    ways = rows(site.logits, site.read)
    found = [asked_at(site._replace(rows=way), gradient) for way in ways]
    right = [(x.words == standing(x, 1)).sum().item() for x in found]
    return found[right.index(max(right))]


def asked_at(site: Site, gradient: Tensor) -> Asked:
    """Read what is asked for: where the gradient is another one than that of
    most words."""
    gradient = site.sorted(gradient).float().cpu().nan_to_num()
    apart = gradient - gradient.median(-1, keepdim=True).values
    first, second = apart.abs().topk(2).values.unbind(-1)
    words = apart.abs().argmax(-1)
    pulls = -apart.gather(-1, words[..., None])[..., 0]
    counts = first > 1e-6 * first.max()
    single = counts & (second < first / 2)
    return Asked(site, words.where(single, -1), pulls, counts)


def standing(one: Asked, offset: int) -> Tensor:
    """Give the ids that were read so many places on: (B, T), or -1."""
    places = torch.arange(one.words.shape[1]) + offset
    inside = (places >= 0) & (places < one.site.read.shape[1])
    last = one.site.read.shape[1] - 1
    return one.site.read[:, places.clamp(0, last)].where(inside, -1)


def following(subject: Subject, one: Asked) -> Tensor:
    """Give the ids that come next in the target: (B, T), or -1 where nobody
    knows. Some words of it may be hidden where it is read."""
    found, read = standing(one, 1), one.site.read
    target, count = subject.inputs[-1].cpu(), read.shape[1]
    likest, places = 0.5, found.shape[1]
    for start in range(target.shape[1] - count + 1):
        part = target[:, start : start + count]
        if part.shape != read.shape:
            continue
        alike = (part == read).float().mean().item()
        if alike > likest:
            later = nn.functional.pad(target[:, start + 1 :], (0, 1), value=-1)
            likest, found = alike, later[:, :places]
    return found


def share(subject: Subject, found: list[Asked], offset: int) -> float:
    """Of the words that are asked for, how many stand so many places on; 0
    where too few positions have a word there to be judged."""
    count = right = total = 0
    for one in found:
        next_ones = following(subject, one)
        there = next_ones if offset == 1 else standing(one, offset)
        judged = (one.words >= 0) & (there >= 0)
        judged &= ~is_id(there, subject.ids[0])
        count, total = count + int(judged.sum()), total + one.words.shape[1]
        right += int((one.words == there)[judged].sum())
    return right / count if 2 * count >= min(total, 4) else 0.0


def uniform(site: Site) -> Tensor:
    """Make logits for which all words are equally likely."""
    size = site.logits.shape[-1]
    return as_spoken(site, torch.full_like(site.logits, -math.log(size)))


def as_spoken(site: Site, x: Tensor) -> Tensor:
    """Say log-probabilities as the model does: some give probabilities."""
    return x.exp() if speaks(site) == "probabilities" else x


def speaks(site: Site) -> str:
    """Tell what a model gives: its rows sum to 1, their powers of e do, or
    they are logits."""
    x = site.logits.float()
    x = x[(x < torch.inf).all(-1)]
    if not len(x):
        return "logits"
    if ((x.sum(-1) - 1).abs() < NEAR).all() and (x >= 0).all():
        return "probabilities"
    if (x.logsumexp(-1).abs() < NEAR).all():
        return "log-probabilities"
    return "logits"


def loss_at(subject: Subject, found: list[Asked], made: list[Tensor]) -> float:
    """Give the loss for other log-probabilities (B, T, V), one a site."""
    return float(played(subject, placed(found, made))[0])


def placed(found: list[Asked], made: list[Tensor]) -> dict[int, Tensor]:
    """Lay log-probabilities (B, T, V) out as the model's logits are."""
    pairs = [(one.site, x) for one, x in zip(found, made)]
    return {x.at: as_spoken(x, x.laid(y)) for x, y in pairs}


def moved(subject: Subject) -> bool:
    """Whether the loss is another one for other logits."""
    seen = staged(subject)
    draw = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(3):
        noise = {
            x.at: torch.randn(x.logits.shape, generator=draw).to(x.logits) * 9
            for x in seen.others + seen.given
        }
        losses.append(played(subject, noise)[0])
    return any(float(x) != float(losses[0]) for x in losses)
