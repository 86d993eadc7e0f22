"""A graph of a run's modules, as text that Mermaid draws."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import count
from math import ceil
from operator import itemgetter
from typing import NamedTuple

from shapewatch.tracing.record.recorder import Step
from shapewatch.tracing.record.tensors import Mark
from shapewatch.tracing.record.visits import Visit
from shapewatch.tracing.tree.tree import Node, few_shapes, node_name

# Which run of which of the equal modules something is in, from the outside.
Chain = tuple[tuple[str, int, int], ...]
FlowEvent = tuple[float, Visit, Step | Visit]


class JoinNode(NamedTuple):
    """A module's own calls that join tensors of the same boxes."""

    name: str
    calls: dict[object, str]  # and what was called


class Box:
    """What is drawn of equal modules: one box; or, of what is shown in parts,
    a frame around these, and around the calls that join tensors there."""

    def __init__(self, name: str, group: list[Node]):
        self.name, self.group = name, group
        self.parts: list[Box] = []
        # By the names of the sources; by a call, and how many went before.
        self.joins: dict[object, JoinNode] = {}


class DrawnRun(NamedTuple):
    """Where the calls of a module's run are drawn; `own` says that it is the
    box's own run, and not that of something within."""

    box: Box
    chain: Chain
    own: bool


class ModuleFlow:
    """The boxes of a tree, down to a depth, and the arrows between them.

    `arrows` has the shapes of what goes from one box to another. What goes
    from one of several equal modules to the next is left out.
    """

    def __init__(self, root: Node, depth: int):
        self.facts, self.numbers = root.facts, count()
        self.times = Counter[tuple[Chain, object]]()
        self.spots: dict[Visit, DrawnRun] = {}
        self.arrows = defaultdict[tuple[str, str], dict[str, None]](dict)
        self.root = self.box([[root]], depth)
        self.inputs = inputs_of(root)
        self.makers: dict[int, tuple[str, Chain]] = {
            mark.number: (f"in{i}", ())
            for i, marks in enumerate(self.inputs.values())
            for mark in marks
        }
        for when, visit, happened in flow_events(root):
            if spot := self.spots.get(visit):
                follow_event(self, spot, happened, ceil(when))
        for mark in root.runs[0].makes or ():
            self.draw(mark, "out", (), root.runs[0].end)

    def box(self, groups: list[list[Node]], depth: int) -> Box:
        """Draw equal modules as one; so those in each of equal modules."""
        box = Box(f"n{next(self.numbers)}", groups[0])
        nodes = [node for group in groups for node in group]
        many = len(nodes[0].groups) if depth else 0
        for group in groups:
            for i, node in enumerate(group):
                for k, run in enumerate(node.runs):
                    place_run(self, run, box, (i, k), not many)
        for i in range(many):
            inner = [node.groups[i] for node in nodes]
            box.parts.append(self.box(inner, depth - 1))
        return box

    def draw(self, mark: Mark, to: str, chain: Chain, when: int) -> None:
        """Draw an arrow from what made a tensor."""
        name, came = self.makers.get(mark.number, ("", ()))
        if name and name != to and not is_loop(came, chain):
            shape = few_shapes(*self.facts.typed([mark], when), 1)
            self.arrows[name, to][shape] = None


def place_run(
    flow: ModuleFlow, run: Visit, box: Box, which: tuple[int, int], whole: bool
) -> None:
    """Let a run of a module be drawn in a box; if it is drawn as a `whole`,
    all that is within it too."""
    around = flow.facts.outer.get(run)
    outer = flow.spots[around].chain if around in flow.spots else ()
    chain = *outer, (box.name, *which)
    flow.spots[run] = DrawnRun(box, chain, True)
    inner = [*flow.facts.parts.get(run, ())] if whole else []
    for part in inner:
        flow.spots[part] = DrawnRun(box, chain, False)
        inner += flow.facts.parts.get(part, ())


def inputs_of(root: Node) -> dict[str, list[Mark]]:
    """Name what a model was given; of a function, what it gives to modules
    and has not made."""
    if root.kind:
        reads = root.runs[0].reads
        given = {key: marks for key, marks in reads.items() if marks}
        one = "input" if len(given) == 1 else "input {}"
        return {
            one.format(key + 1) if isinstance(key, int) else key: marks
            for key, marks in given.items()
        }
    steps = root.facts.calls.steps
    made = {mark.number for step in steps for mark in step.makes}
    runs = (run for part in root.parts for run in part.runs)
    found = (mark for run in runs for x in run.reads.values() for mark in x)
    return {"input": [mark for mark in found if mark.number not in made]}


def flow_events(root: Node) -> list[FlowEvent]:
    """List the calls, and the ends of modules' runs, in order; each with the
    visit that it is in."""
    calls = root.facts.calls
    found: list[FlowEvent] = [
        (i, step.visit, step) for i, step in enumerate(calls.steps)
    ]
    found += [(run.end - 0.5, run, run) for run in calls.run.visits]
    return sorted(found, key=itemgetter(0))


def follow_event(
    flow: ModuleFlow, spot: DrawnRun, happened: Step | Visit, when: int
) -> None:
    """Draw what a call reads, or what a module hands on as it came."""
    box, chain, own = spot
    makes, maker = happened.makes or [], (box.name, chain)
    if isinstance(happened, Visit):
        reads = makes if own and not box.parts else []
        makes = reads
    elif box.parts:
        reads, maker = happened.reads, call_source(flow, spot, happened)
    else:
        reads = happened.reads
        makes = [mark for mark in makes if mark not in reads]  # x.to(x.dtype)
    for mark in reads:
        flow.draw(mark, maker[0], chain, when)
    for mark in makes:
        flow.makers[mark.number] = maker


def call_source(
    flow: ModuleFlow, spot: DrawnRun, step: Step
) -> tuple[str, Chain]:
    """Tell where what a module's own call makes comes from: from the call, if
    it joins tensors of several boxes; else from where they came, if so."""
    nobody: tuple[str, Chain] = "", ()
    makers = (flow.makers.get(mark.number, nobody) for mark in step.reads)
    found = {maker: None for maker in makers if maker != nobody}
    if len(found) < 2:
        return next(iter(found), nobody)
    join = join_of(flow, spot, step, {name for name, _ in found})
    join.calls[step.call] = step.name.strip("_")
    return join.name, spot.chain


def join_of(
    flow: ModuleFlow, spot: DrawnRun, step: Step, names: set[str]
) -> JoinNode:
    """Find where a call is drawn that joins what some boxes made: of equal
    modules, where that of the first is; in a loop, where it was."""
    joins, times = spot.box.joins, flow.times[spot.chain, step.call]
    flow.times[spot.chain, step.call] += 1
    if (step.call, times) not in joins:
        same = {x.name for x in joins.values() if step.call in x.calls}
        sources = frozenset("" if name in same else name for name in names)
        new = JoinNode(f"{spot.box.name}_{len(joins)}", {})
        joins[step.call, times] = joins.setdefault(sources, new)
    return joins[step.call, times]


def is_loop(came: Chain, to: Chain) -> bool:
    """Whether something goes from one of equal modules, or from one run of a
    module, to another."""
    pairs = (pair for pair in zip(came, to) if pair[0] != pair[1])
    one, other = next(pairs, (("",), ("", "")))
    return one[0] == other[0] != ""


# What has a meaning in a label, and how to write it.
SIGNS = str.maketrans(
    {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;"}
)
MOST_AT_ARROW = 3  # shapes at an arrow


def mermaid_of(root: Node, depth: int) -> str:
    """Write the modules of a tree, down to a depth, and what goes where."""
    flow = ModuleFlow(root, depth)
    used = {name for pair in flow.arrows for name in pair}
    lines = ["flowchart TD"]
    for i, name in enumerate(flow.inputs):
        lines += [f"  in{i}([{mermaid_label(name)}])"] * (f"in{i}" in used)
    lines += [f"  {line}" for line in box_lines(flow.root)]
    lines += ["  out([output])"] * ("out" in used)
    for (start, end), shapes in flow.arrows.items():
        texts = [*shapes][:MOST_AT_ARROW] + ["…"] * (
            len(shapes) > MOST_AT_ARROW
        )
        lines.append(f"  {start} -->|{mermaid_label(', '.join(texts))}| {end}")
    return "\n".join(lines)


def box_lines(box: Box) -> Iterator[str]:
    """Draw a box; or a frame, and all that is in it."""
    node = box.group[0]
    kind = node.kind or "function"
    name = node_name(box.group) if node.name else ""
    failed = any(run.makes is None for run in node.runs) and node.kind
    text = mermaid_label(
        *filter(None, [name, kind, "failed" if failed else ""])
    )
    if not box.parts:
        yield f"{box.name}[{text}]"
        return
    yield f"subgraph {box.name} [{text}]"
    for part in box.parts:
        yield from (f"  {line}" for line in box_lines(part))
    for join in {join.name: join for join in box.joins.values()}.values():
        words = dict.fromkeys(join.calls.values())
        yield f"  {join.name}(({mermaid_label(', '.join(words))}))"
    yield "end"


def mermaid_label(*lines: str) -> str:
    """Write a label, in quotes: one line below the other."""
    texts = (line.translate(SIGNS) for line in lines)
    return '"' + "<br>".join(texts) + '"'
