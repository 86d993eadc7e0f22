"""Residuals: what a sublayer adds stays, whatever comes after it, and what
went in is added once. This is read off the calls of a run."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from shapewatch.properties.finding import BROKEN, UNUSUAL
from shapewatch.properties.matrices import LINEAR, flow_of
from shapewatch.properties.subject import Subject
from shapewatch.tracing.questions.attention import FUSED_CALL, Flow

ADDS = {"add", "radd", "iadd"}
MATRICES = LINEAR | {FUSED_CALL, "conv1d", "conv2d", "addbmm", "bilinear"}
Sets = list[set[int]]
SAME = {"contiguous", "clone", "to", "float", "type_as", "dropout"}


class Sum(NamedTuple):
    """A sum of two results of one shape: its step, and theirs."""

    at: int
    parts: tuple[int, int]


class Added(NamedTuple):
    """A residual sum: its step, what was there before, and what a branch
    made of that."""

    at: int
    skip: int
    branch: int


def wrong_sum(subject: Subject) -> tuple[str, str] | None:
    """Say which sum of a run leaves out what a sublayer has added, or adds
    something twice; and of which level that is."""
    flow = flow_of(subject)
    found = [*sums(flow)]
    if (at := doubled(flow, found)) is not None:
        says = (
            f"In {where(flow, at)}, a sum has the same term twice, such as "
            "x + f(x) + x: is that meant?"
        )
        return says, UNUSUAL
    every = origins(flow, flow.sources)
    around = residuals(flow, found, every)
    for at, later in forgotten(flow, every, around):
        says = (
            f"In {where(flow, later)}, a residual connection starts too "
            f"early: what {where(flow, at)} has added is read by the next "
            "sublayer, and left out of the sum. Add to the newest sum."
        )
        return says, BROKEN
    if path := unadded(flow, every, around):
        says = (
            f"What {path} mixes is added to nothing that was there before it, "
            "as other results are. Is a residual connection missing?"
        )
        return says, UNUSUAL
    return None


def sums(flow: Flow) -> Iterator[Sum]:
    """Find the sums of two results, each (..., T, C)."""
    for i, made in enumerate(flow.sources):
        if flow.names[i] in ADDS and len(made) == 2:
            one, other = made
            shapes = {x.shape for x in flow.steps[i].reads}
            whole = len(shapes) == 1 and len(shapes.pop()) > 1
            if one is not None and other is not None and whole:
                yield Sum(i, (one, other))


def doubled(flow: Flow, found: list[Sum]) -> int | None:
    """Find a sum of sums that has a term twice, of its own module."""
    inside = {one.at: one.parts for one in found}

    def terms(j: int, path: str) -> Counter[int]:
        """Count the terms of a sum, as far as its module adds them."""
        while flow.names[j] in SAME and flow.sources[j][0] is not None:
            j = flow.sources[j][0] or 0
        count = Counter([j])
        if j in inside and flow.steps[j].visit.path == path:
            for part in inside[j]:
                count += terms(part, path)
        return count

    for at in inside:
        every = terms(at, flow.steps[at].visit.path)
        if max(every.values()) > 1:
            return at
    return None


def residuals(flow: Flow, found: list[Sum], every: Sets) -> list[Added]:
    """Find the sums of what was there and of what a branch made of it: not
    those of scores and biases."""
    direct, scored = direct_origins(flow), scores(flow)
    return [
        Added(one.at, skip, branch)
        for one in found
        if one.at not in scored
        for skip, branch in (one.parts, one.parts[::-1])
        if skip in every[branch] and skip not in direct[branch]
    ]


def forgotten(
    flow: Flow, every: Sets, around: list[Added]
) -> Iterator[tuple[int, int]]:
    """Find sums whose result a later branch reads, and no later sum has as a
    term; and the sum that starts from what was there before, instead."""
    direct = direct_origins(flow)
    for at, own, _ in around:
        later = [
            one
            for one in around
            if at in every[one.branch] and at not in direct[one.branch]
        ]
        kept = any(at in direct[one.skip] for one in later)
        stale = [one.at for one in later if one.skip in direct[own]]
        if stale and not kept:
            yield at, stale[0]


def unadded(flow: Flow, every: Sets, around: list[Added]) -> str:
    """Name the module of an attention that is added to nothing that was
    there before it, though others are; or ""."""
    mixed = [one.mixed for one in flow.attentions()]
    right = [
        any(x in every[one.branch] and one.skip in every[x] for one in around)
        for x in mixed
    ]
    odd = [x for x, fine in zip(mixed, right) if not fine]
    most = odd and 2 * len(odd) >= len(mixed)  # one may pool, at the end
    return where(flow, odd[0]) if most and around else ""


def scores(flow: Flow) -> set[int]:
    """List the steps from products to weights."""
    return {i for one in flow.attentions() for i, _ in one.way}


def direct_origins(flow: Flow) -> Sets:
    """List for each step those that had a part in it without a matrix."""
    return origins(flow, within(flow))


def within(flow: Flow) -> list[list[int | None]]:
    """List what each step reads, but for matrices and attentions."""
    return [
        [] if name in MATRICES else made
        for name, made in zip(flow.names, flow.sources)
    ]


def origins(flow: Flow, sources: list[list[int | None]]) -> list[set[int]]:
    """List for each step all those that had a part in it, and itself."""
    found: list[set[int]] = []
    for i, made in enumerate(sources):
        found.append({i}.union(*(found[j] for j in made if j is not None)))
    return found


def where(flow: Flow, at: int) -> str:
    """Name the module of a step."""
    return flow.steps[at].visit.path or "the model"
