"""Residual connections, followed from sum to sum: what a block hands on."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import torch

from shapewatch.properties.activations import LINEAR, module_of_step
from shapewatch.properties.attention_parts import recorded_run
from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.structure import OTHERS, blocks, is_norm
from shapewatch.properties.subject import NotJudgedError, Subject
from shapewatch.tracing.questions.flow import FUSED_CALL, SCALES, Flow

ADDS = {"add", "radd", "iadd"}
MATRICES = LINEAR | {FUSED_CALL, "conv1d", "conv2d", "addbmm", "bilinear"}
NORM_CALLS = {"layer_norm", "rms_norm", "group_norm", "batch_norm"}
COPIES = {"contiguous", "clone", "to", "float", "type_as", "dropout"}
Sets = list[set[int]]
Fault = tuple[str, str] | None  # what is said, and of which level it is


class ResidualSum(NamedTuple):
    """A residual sum: its step, what was there before, and its branch."""

    at: int
    skip: int
    branch: int


class Stream:
    """The sums of a run, as steps of its flow: `terms` has the two steps that
    each adds. `origins` are the steps that had a part in one, and `direct`
    those that had it without a matrix; both have the step itself."""

    def __init__(self, flow: Flow):
        self.flow = flow
        self.terms = sums_of_results(flow)
        self.origins = step_origins(flow.sources)
        every = range(len(flow.steps))
        self.matrices = {i for i in every if is_matrix(flow, i)}
        plain = [[] if i in self.matrices else flow.sources[i] for i in every]
        self.direct = step_origins(plain)
        scored = {i for steps in flow.attentions() for i, _ in steps.way}
        self.residuals = [
            ResidualSum(at, skip, branch)
            for at, terms in self.terms.items()
            if at not in scored
            for skip, branch in (terms, terms[::-1])
            if skip in self.origins[branch] - self.direct[branch]
        ]


def sums_of_results(flow: Flow) -> dict[int, tuple[int, int]]:
    """Find the sums of two results, each (..., T, C)."""
    sums = {}
    for i, sources in enumerate(flow.sources):
        if flow.names[i] in ADDS and len(sources) == 2:
            left, right = sources
            shapes = {x.shape for x in flow.steps[i].reads}
            alike = len(shapes) == 1 and len(shapes.pop()) > 1
            if left is not None and right is not None and alike:
                sums[i] = left, right
    return sums


def is_matrix(flow: Flow, i: int) -> bool:
    """Whether a step multiplies by a matrix: a vector only weighs."""
    large = [x for x in flow.steps[i].reads if len(x.shape) > 1]
    return flow.names[i] in MATRICES and len(large) > 1


def step_origins(sources: list[list[int | None]]) -> Sets:
    """List for each step all those that had a part in it, and itself."""
    origins: Sets = []
    for i, terms in enumerate(sources):
        earlier = (origins[j] for j in terms if j is not None)
        origins.append({i}.union(*earlier))
    return origins


RESIDUAL_HINT = (
    "input on. Look at the residual connections: each adds a sublayer's "
    "result to what went in, once."
)


@check
def identity(subject: Subject) -> Verdict:
    """Check that a block whose sublayers return 0 returns its input; or, in
    post-norm, the norm of its input.

    Then a gradient reaches all blocks as it is. He et al. (2016), section
    3.1; Xiong et al. (2020), figure 1.

    - Changes: nothing.
    - Looks at: blocks, which are the elements of a list of modules with norms
      and linear layers: does a path lead back from the output of each to its
      input, with no matrix on it, and no norm before the first sum?
    - Says: which block does not hand its input on, which sum has a term twice,
      and which adds to something older than its input. Unusual: only a few of
      many blocks are so.
    """
    flow, _ = recorded_run(subject)
    stream, runs = Stream(flow), [*block_runs(subject)]
    ways = [ways_back(stream, run) for run in runs]
    kept = [False in normed for normed in ways]
    shown, fault = torch.tensor([kept or [0.0]]).float(), stale_sum(stream)
    if not fault or fault[1] != BROKEN:
        fault = cut_stream(stream, runs, ways) or fault
    if fault := fault or double_sum(stream, {run.path for run in runs}):
        return False, fault[0], shown, fault[1]
    if not runs:
        raise NotJudgedError("There is no list of blocks with norms inside.")
    says = "With its layers giving 0, a block hands on its input, or its norm."
    if not any(kept):
        says = "Where a block gives 0, its input bypasses the block."
    return True, says, shown


class BlockRun(NamedTuple):
    """A run of a block: its path, the first of its steps and the one behind
    its last, and the numbers of the tensors that it reads and gives; `norms`
    are the paths of the norms of the model."""

    path: str
    start: int
    end: int
    inputs: set[int]
    result: int
    norms: set[str]

    def reads_input(self, flow: Flow, i: int) -> bool:
        """Whether a step reads what the block does."""
        pairs = zip(flow.sources[i], flow.steps[i].reads)
        return any(
            mark.number in self.inputs and (j is None or j < self.start)
            for j, mark in pairs
        )


def block_runs(subject: Subject) -> Iterator[BlockRun]:
    """Give each run of a block that reads vectors of the shape it gives."""
    paths = {path for path, _ in blocks(subject.model)}
    norms = {
        path
        for path, part in subject.model.named_modules()
        if is_norm(part) or isinstance(part, OTHERS)
    }
    for visit in recorded_run(subject)[1]:
        if visit.path in paths and visit.makes:
            result = visit.makes[0]
            alike = {x.number for x in visit.given if x.shape == result.shape}
            if alike:  # it reads no ids alone
                span = visit.path, visit.start, visit.end
                yield BlockRun(*span, alike, result.number, norms)


def cut_stream(
    stream: Stream, runs: list[BlockRun], ways: list[set[bool]]
) -> Fault:
    """Say which block hands its input on neither by itself nor outside of
    it; one alone that norms it first may be meant so, as RWKV's first."""
    wrong = [
        (run, normed)
        for run, normed in zip(runs, ways)
        if False not in normed and not added_outside(stream, run)
    ]
    if any(adds_projection(stream, run) for run, _ in wrong):
        raise NotJudgedError("A block adds a projection of its input.")
    if not wrong:
        return None
    run, normed = wrong[0]
    says = f"With all its layers giving 0, {run.path} does not hand its "
    says += RESIDUAL_HINT
    if len(wrong) == 1 and normed and any(False in normed for normed in ways):
        return f"{says} The others do.", UNUSUAL
    return says, BROKEN


def ways_back(stream: Stream, run: BlockRun) -> set[bool]:
    """Follow what a block gives back to what it reads, by no matrix: say of
    the ways that lead there whether a norm comes before their first sum."""
    flow, last = stream.flow, maker_of(stream.flow, run.result, run.end)
    if last is None or last < run.start:
        return {False} if run.result in run.inputs else set()
    ahead, passed, ways = [(last, False)], set[tuple[int, bool]](), set[bool]()
    while ahead:
        i, normed = place = ahead.pop()
        if place in passed or i in stream.matrices:
            continue
        passed.add(place)
        normed = (normed or in_norm(flow, run, i)) and not joins(
            stream, run, i
        )
        if run.reads_input(flow, i):
            ways.add(normed)
        makers = (j for j in flow.sources[i] if j is not None)
        ahead += [(j, normed) for j in makers if j >= run.start]
    return ways


def maker_of(flow: Flow, number: int, end: int) -> int | None:
    """Find the last step before `end` that made a tensor."""
    for i in reversed(range(end)):
        if any(x.number == number for x in flow.steps[i].makes):
            return i
    return None


def in_norm(flow: Flow, run: BlockRun, i: int) -> bool:
    """Whether a step normalises, or is a part of that: no copy, which may be
    the very tensor."""
    name, path = flow.names[i], flow.steps[i].visit.path
    return name in NORM_CALLS or (path in run.norms and name not in COPIES)


def joins(stream: Stream, run: BlockRun, i: int) -> bool:
    """Whether a step adds two results; or joins them in another way, such as
    a mean, where a matrix of the block made one. A product is a gate."""
    flow = stream.flow
    made = [j for j in flow.sources[i] if j is not None]
    two = len(made) > 1 or run.reads_input(flow, i)
    if not two or flow.names[i] in SCALES:
        return False
    return i in stream.terms or any(
        max(stream.direct[j] & stream.matrices, default=-1) >= run.start
        for j in made
    )


def added_outside(stream: Stream, run: BlockRun) -> bool:
    """Whether what a block gives is joined, behind it, with what it reads or
    what another way made of that."""
    flow = stream.flow
    last = maker_of(flow, run.result, run.end)
    before = {maker_of(flow, x, run.start) for x in run.inputs} - {None}
    for j in range(run.end, len(flow.steps)):
        terms = {i for i in flow.sources[j] if i is not None}
        joins = {i for i in terms if last in stream.direct[i]}
        others = (i for i in terms if last not in stream.origins[i])
        if joins and (
            any(before & stream.origins[i] for i in others)
            or run.reads_input(flow, j)
        ):
            return True
    return False


def adds_projection(stream: Stream, run: BlockRun) -> bool:
    """Whether a block adds a matrix times its input: sizes may change."""
    last = maker_of(stream.flow, run.result, run.end)
    return last is not None and any(
        stream.flow.names[i] in MATRICES and run.reads_input(stream.flow, i)
        for at in stream.direct[last] & stream.terms.keys()
        if at >= run.start
        for term in stream.terms[at]
        for i in stream.direct[term]
    )


def stale_sum(stream: Stream) -> Fault:
    """Say where a residual connection starts too early: in a few of many
    blocks that is meant, as Zamba2 has attention beside its stream."""
    stale = [*stale_sums(stream)]
    for at, later in stale:
        says = (
            f"In {module_of_step(stream.flow, later)}, a residual connection "
            f"starts too early: what {module_of_step(stream.flow, at)} has "
            "added is read by the next sublayer but left out of the sum. Add "
            "to the newest sum."
        )
        few = 3 * len(stale) < len(stream.residuals)
        return says, UNUSUAL if few else BROKEN
    return None


def stale_sums(stream: Stream) -> Iterator[tuple[int, int]]:
    """Find sums whose result a later branch reads, and no later sum has as a
    term; and the sum that starts from what was there before, instead."""
    direct = stream.direct
    for at, skip, _ in stream.residuals:
        later = [
            other
            for other in stream.residuals
            if at in stream.origins[other.branch] - direct[other.branch]
        ]
        kept = any(at in direct[other.skip] for other in later)
        if later and not kept and later[0].skip in direct[skip]:
            yield at, later[0].at


def double_sum(stream: Stream, block_paths: set[str]) -> Fault:
    """Say where a module adds a term twice. Other modules than blocks may
    mean that, if something stands between."""
    for at, terms in stream.terms.items():
        path = stream.flow.steps[at].visit.path
        if max(counted_terms(stream, at, path).values()) > 1:
            itself = len({*terms}) < 2
            says = (
                f"In {path or 'the model'}, a sum has the same term twice, "
                f"such as {'x + x' if itself else 'x + f(x) + x'}: is that "
                "intended? A residual connection adds what went into a "
                "sublayer, once."
            )
            wrong = stream.residuals and (itself or path in block_paths)
            return says, BROKEN if wrong else UNUSUAL
    return None


def counted_terms(stream: Stream, j: int, path: str) -> Counter[int]:
    """Count the terms of a sum, as far as its module adds them."""
    flow = stream.flow
    while flow.names[j] in COPIES and flow.sources[j][0] is not None:
        j = flow.sources[j][0] or 0
    terms = Counter([j])
    if j in stream.terms and flow.steps[j].visit.path == path:
        for part in stream.terms[j]:
            terms += counted_terms(stream, part, path)
    return terms
