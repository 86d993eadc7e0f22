"""Compare: the first call at which two traced runs part."""

from collections import defaultdict
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor

from tformer_lite.tracing.calls import Calls
from tformer_lite.tracing.record.recorder import sources_of

Two = tuple[Calls, Calls]
Pair = tuple[int, int]
NO_VALUES = "; no values were kept."
NO_NAMES = " Axis names are not compared: the two ran at different sizes."


class Comparison(NamedTuple):
    """What came out: print it.

    `agree` says whether all that was compared is the same. If not, `where`
    is the module of the first difference, and `mine` and `theirs` the
    shapes there. `calls` is how many were compared.
    """

    agree: bool
    where: str
    mine: str
    theirs: str
    calls: int
    text: str

    def __str__(self) -> str:
        return self.text


def compare(mine: Calls, theirs: Calls) -> Comparison:
    """Find the first call at which two traces part: by its shapes, or, if
    no shape differs, by its values, as far as both have kept them.

    Two runs of the same code are compared call by call. Where the code of a
    module differs, its calls are compared as far as they are written alike,
    then what leaves it, for others to go on with. Values may differ by
    rounding. Modules that only one of them has are not compared.
    """
    traces = mine, theirs
    pairs = pairs_of(Side(mine), Side(theirs))
    names = alike(traces)
    for pair in sorted(pairs):
        if shapes_part(traces, pair, names):
            return difference(traces, pairs, pair)
    valued = 0
    for pair in sorted(pairs):
        made = (t.runs[0].values.kept.get(i, []) for t, i in zip(traces, pair))
        kept = list(zip(*made))
        valued += bool(kept)
        for a, b in kept:
            if not close(a, b):
                return difference(traces, pairs, pair, apart(a, b))
    return agreement(traces, pairs, valued)


class Side:
    """One of the two traces: where its calls are, and what leaves where."""

    def __init__(self, calls: Calls):
        self.steps, self.sources = calls.steps, sources_of(calls.steps)
        self.texts = [row.call for row in calls.table.rows]
        self.own: dict[str, list[int]] = defaultdict(list)
        self.inside: dict[str, list[int]] = defaultdict(list)
        self.readers: dict[int | None, set[int]] = defaultdict(set)
        for i, step in enumerate(self.steps):
            self.own[step.visit.path].append(i)
            for path in paths_around(step.visit.path):
                self.inside[path].append(i)
            for source in self.sources[i]:
                self.readers[source].add(i)

    def leaving(self, path: str) -> list[int]:
        """The calls in a module that make what is read outside of it; the
        last call, if nothing is."""
        inside = self.inside[path]
        within = set(inside)
        return [i for i in inside if self.readers[i] - within] or inside[-1:]


def paths_around(path: str) -> list[str]:
    """A path, and those that it lies in: a.b, a, and the whole."""
    names = path.split(".")
    found = [".".join(names[:n]) for n in range(len(names), -1, -1)]
    return list(dict.fromkeys(found))


def pairs_of(mine: Side, theirs: Side) -> dict[Pair, str]:
    """Pair the steps that should be alike, each with its module's path."""
    pairs: dict[Pair, str] = {}
    both = mine.inside.keys() & theirs.inside.keys()
    for path in sorted(both, key=len, reverse=True):  # parts before wholes
        own = mine.own[path], theirs.own[path]
        for i, j in zip(*own):
            if mine.texts[i] != theirs.texts[j]:
                break
            pairs.setdefault((i, j), path)
            for source in sources(mine, theirs, i, j):
                pairs.setdefault(source, mine.steps[source[0]].visit.path)
        else:
            if len(own[0]) == len(own[1]):
                continue
        ends = mine.leaving(path), theirs.leaving(path)
        if len(ends[0]) != len(ends[1]):
            ends = ends[0][-1:], ends[1][-1:]
        for pair in zip(*ends):
            pairs.setdefault(pair, path)
    return pairs


def sources(mine: Side, theirs: Side, i: int, j: int) -> list[Pair]:
    """Pair the calls that made what two like calls read."""
    return [
        (a, b)
        for a, b in zip(mine.sources[i], theirs.sources[j])
        if a is not None and b is not None
        if len(mine.steps[a].makes) == len(theirs.steps[b].makes) == 1
    ]


def alike(traces: Two) -> bool:
    """Whether both were run at the same sizes, probes included."""
    mine, theirs = ([run.sizes for run in t.runs] for t in traces)
    return mine == theirs


def shapes_part(traces: Two, pair: Pair, names: bool) -> bool:
    """Whether two steps make other shapes: other sizes, or, if `names` are
    compared, other names that are proved."""
    mine, theirs = (t.axes[i][1] for t, i in zip(traces, pair))
    if list(map(len, mine)) != list(map(len, theirs)):
        return True
    return any(
        a.size != b.size
        or (names and a.proof == b.proof == "proved" and a.name != b.name)
        for a, b in zip(chain(*mine), chain(*theirs))
    )


def close(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same, but for rounding if they have
    decimals."""
    a, b = a.cpu(), b.cpu()
    types = [t.dtype for t in (a, b) if t.is_floating_point()]
    near = max((torch.finfo(t).eps for t in types), default=0) ** (2 / 3)
    wide = torch.promote_types(a.dtype, b.dtype)
    a, b = a.to(wide), b.to(wide)
    return torch.allclose(a, b, rtol=near, atol=near, equal_nan=True)


def apart(a: Tensor, b: Tensor) -> str:
    """Say how far apart two tensors are."""
    a, b = a.to("cpu", torch.double), b.to("cpu", torch.double)
    far = (a - b).abs()[a != b].max().item()
    return f"the shapes agree, the values are up to {far:.3g} apart"


def difference(
    traces: Two, pairs: dict[Pair, str], pair: Pair, why: str = ""
) -> Comparison:
    """Say where two traces part, and what they have there."""
    mine, theirs = (t.table.rows[i] for t, i in zip(traces, pair))
    calls = " / ".join(dict.fromkeys((f"`{mine.call}`", f"`{theirs.call}`")))
    why = why or f"mine has {mine.makes}, theirs has {theirs.makes}"
    where, before = pairs[pair], sum(other < pair for other in pairs)
    text = f"They part in {where or 'the whole model'}, at {calls}: {why}. "
    text += f"Calls compared before it: {before}."
    return Comparison(False, where, mine.makes, theirs.makes, len(pairs), text)


def agreement(traces: Two, pairs: dict[Pair, str], valued: int) -> Comparison:
    """Say that nothing differs, and how much was compared."""
    text = f"They agree. Calls with the same shapes: {len(pairs)}"
    text += f"; with the same values: {valued}." if valued else NO_VALUES
    used = list(zip(*pairs)) or [(), ()]
    left = [len(t.steps) - len(set(u)) for t, u in zip(traces, used)]
    if any(left):
        text += f" Not compared: {left[0]} calls of mine, {left[1]} of theirs."
    if not alike(traces):
        text += NO_NAMES
    return Comparison(True, "", "", "", len(pairs), text)
