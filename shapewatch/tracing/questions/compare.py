"""Compare: the first call at which two traced runs part."""

from collections import defaultdict
from itertools import chain, zip_longest
from typing import NamedTuple, TypeGuard

import torch
from torch import Tensor

from shapewatch.tracing.calls import Calls
from shapewatch.tracing.record.recorder import sources_of

StepPair = tuple[int, int]
StepPairs = dict[StepPair, str]  # in which module


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
    traces = TraceView(mine), TraceView(theirs)
    pairs = dict(sorted(step_pairs(*traces)))
    for difference in shape_difference, value_difference:
        for pair in pairs:
            if why := difference(traces, pair):
                return difference_found(traces, pairs, pair, why)
    return agreement(traces, pairs)


class TraceView:
    """One of the two traces: where its calls are, and what leaves where."""

    def __init__(self, calls: Calls):
        self.steps, self.sources = calls.steps, sources_of(calls.steps)
        self.rows, self.kept = calls.table.rows, calls.run.values.kept
        self.runs = [run.sizes for run in calls.runs]  # probes included
        self.texts = [row.call for row in self.rows]
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


TwoTraces = tuple[TraceView, TraceView]
TwoTensors = tuple[Tensor, Tensor]


def paths_around(path: str) -> list[str]:
    """A path, and those that it lies in: a.b, a, and the whole."""
    return [path, *paths_around(path.rpartition(".")[0])] if path else [""]


def step_pairs(mine: TraceView, theirs: TraceView) -> list:
    """Pair the steps that should be alike, each with its module's path."""
    pairs: StepPairs = {}
    both = mine.inside.keys() & theirs.inside.keys()
    for path in sorted(both, key=len, reverse=True):  # parts before wholes
        for i, j in zip_longest(mine.own[path], theirs.own[path]):
            if None in (i, j) or mine.texts[i] != theirs.texts[j]:
                break
            pairs.setdefault((i, j), path)
            for a, b in zip(mine.sources[i], theirs.sources[j]):
                if makes_one(a, mine) and makes_one(b, theirs):
                    pairs.setdefault((a, b), mine.steps[a].visit.path)
        else:
            continue
        ends = mine.leaving(path), theirs.leaving(path)
        if len(ends[0]) != len(ends[1]):
            ends = ends[0][-1:], ends[1][-1:]
        for pair in zip(*ends):
            pairs.setdefault(pair, path)
    return list(pairs.items())


def makes_one(i: int | None, view: TraceView) -> TypeGuard[int]:
    """Whether something is a step that makes one tensor."""
    return i is not None and len(view.steps[i].makes) == 1


def shape_difference(traces: TwoTraces, pair: StepPair) -> str:
    """Say what two steps make, if it has other sizes, or, where both runs
    had the same sizes, other names that are proved; else ""."""
    mine, theirs = (chain(*t.rows[i].outputs) for t, i in zip(traces, pair))
    one, two = made_sizes(traces, pair)
    renamed = traces[0].runs == traces[1].runs and any(
        a.proof == b.proof == "proved" and a.name != b.name
        for a, b in zip(mine, theirs)
    )
    if one == two and not renamed:
        return ""
    return "mine has {}, theirs has {}".format(*made_texts(traces, pair))


def made_sizes(traces: TwoTraces, pair: StepPair) -> list[str]:
    """Write the sizes of what two steps make."""
    marks = (t.steps[i].makes for t, i in zip(traces, pair))
    return [str([tuple(x.shape) for x in made])[1:-1] for made in marks]


def made_texts(traces: TwoTraces, pair: StepPair) -> list[str]:
    """Write what two steps make: by names, or, where these are the same, by
    sizes."""
    mine, theirs = (t.rows[i].makes for t, i in zip(traces, pair))
    return [mine, theirs] if mine != theirs else made_sizes(traces, pair)


def value_difference(traces: TwoTraces, pair: StepPair) -> str:
    """Say how far two steps' values are apart; "" but for rounding."""
    for a, b in kept_values(traces, pair):
        if not nearly_equal(a, b):
            a, b = a.to("cpu", torch.double), b.to("cpu", torch.double)
            far = (a - b).abs()[a != b].max().item()
            return f"the shapes agree, the values are up to {far:.3g} apart"
    return ""


def kept_values(traces: TwoTraces, pair: StepPair) -> list[TwoTensors]:
    """Pair the values that two steps made, as far as both were kept."""
    return list(zip(*(t.kept.get(i, []) for t, i in zip(traces, pair))))


def nearly_equal(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same, but for rounding of decimals."""
    types = [x.dtype for x in (a, b) if x.is_floating_point()]
    near = max((torch.finfo(t).eps for t in types), default=0) ** (2 / 3)
    wide = torch.promote_types(a.dtype, b.dtype)
    a, b = a.to("cpu", wide), b.to("cpu", wide)
    return torch.allclose(a, b, rtol=near, atol=near, equal_nan=True)


def difference_found(
    traces: TwoTraces, pairs: StepPairs, pair: StepPair, why: str
) -> Comparison:
    """Say where two traces part, and what they have there."""
    texts = [f"`{t.texts[i]}`" for t, i in zip(traces, pair)]
    calls, where = " / ".join(dict.fromkeys(texts)), pairs[pair]
    before = list(pairs).index(pair)
    text = f"They part in {where or 'the whole model'}, at {calls}: {why}. "
    text += code_difference(traces, pair, where)
    text += f"Calls compared before it: {before}."
    mine, theirs = made_texts(traces, pair)
    return Comparison(False, where, mine, theirs, len(pairs), text)


def code_difference(traces: TwoTraces, pair: StepPair, path: str) -> str:
    """Say where, before two calls, the code of their module is written
    otherwise; "" where it is not."""
    before = (
        [row.call for row in t.rows[:i] if row.path == path]
        for t, i in zip(traces, pair)
    )
    for texts in zip_longest(*before):
        if texts[0] != texts[1]:
            calls = [f"`{x}`" if x else "this call" for x in texts]
            said = "Before it the code differs: mine {}, theirs {}. "
            return said.format(*calls)
    return ""


def agreement(traces: TwoTraces, pairs: StepPairs) -> Comparison:
    """Say that nothing differs, and how much was compared."""
    n = sum(bool(kept_values(traces, pair)) for pair in pairs)
    kept = f"with the same values: {n}" if n else "no values were kept"
    text = f"They agree. Calls with the same shapes: {len(pairs)}; {kept}."
    used = list(zip(*pairs)) or [(), ()]
    left = [len(t.steps) - len(set(u)) for t, u in zip(traces, used)]
    if any(left):
        text += f" Not compared: {left[0]} calls of mine, {left[1]} of theirs."
    if traces[0].runs != traces[1].runs:
        text += " Axis names are not compared: the two ran at different sizes."
    return Comparison(True, "", "", "", len(pairs), text)
