"""Residuals: what a sublayer adds stays, whatever comes after it, and what
went in is added once. This is read off the calls of a run."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tformer_lite.properties.finding import BROKEN, UNUSUAL
from tformer_lite.properties.matrices import LINEAR, flow_of
from tformer_lite.properties.subject import Subject
from tformer_lite.tracing.questions.attention import FUSED, Flow

ADDS = {"add", "radd", "iadd"}
MATRICES = LINEAR | {FUSED, "conv1d", "conv2d", "addbmm", "bilinear"}
SAME = {"contiguous", "clone", "to", "float", "type_as", "dropout"}


class Sum(NamedTuple):
    """A sum of two results of one shape: its step, and theirs."""

    at: int
    parts: tuple[int, int]


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
    for at, later in forgotten(flow, found):
        says = (
            f"What {where(flow, at)} adds is read by the sublayer after it, "
            f"and is lost then: {where(flow, later)} adds to what was there "
            "before. Look at what each residual connection starts from."
        )
        return says, BROKEN
    return None


def sums(flow: Flow) -> Iterator[Sum]:
    """Find the sums of two results, each (..., T, C)."""
    for i, made in enumerate(flow.sources):
        if flow.names[i] in ADDS and len(made) == 2:
            one, other = made
            shapes = {x.shape for x in flow.steps[i].reads}
            if one is not None and other is not None and len(shapes) == 1:
                if len(shapes.pop()) > 1:
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


def forgotten(flow: Flow, found: list[Sum]) -> Iterator[tuple[int, int]]:
    """Find sums whose result a later sublayer reads, and no later sum has as
    a term; and the sum that starts from what was there before, instead."""
    every, direct = origins(flow, flow.sources), origins(flow, within(flow))

    def read(skip: int, branch: int) -> bool:
        return skip in every[branch] and skip not in direct[branch]

    around = [
        (one.at, *pair)
        for one in found
        for pair in (one.parts, one.parts[::-1])
        if read(*pair)
    ]
    for at, *_ in around:
        later = [(i, skip) for i, skip, branch in around if read(at, branch)]
        kept = any(at in direct[skip] for _, skip in later)
        stale = [i for i, skip in later if skip in every[at]]
        if stale and not kept:
            yield at, stale[0]


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
