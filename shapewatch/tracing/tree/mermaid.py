"""A graph of a run's modules, as text that Mermaid draws: the boxes of a tree,
and which tensors go from which to which."""

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

# What has a meaning in a label, and how to write it.
SIGNS = str.maketrans(
    {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;"}
)
MOST_AT_ARROW = 3  # shapes
# Which run of which of the equal modules something is in, from the outside.
Chain = tuple[tuple[str, int, int], ...]
Maker = tuple[str, Chain]
NOBODY: Maker = "", ()


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

    def lines(self) -> Iterator[str]:
        """Write the box; or the frame, and all that is in it."""
        node, runs = self.group[0], self.group[0].runs
        name = node_name(self.group) if node.name else ""
        failed = node.kind and any(run.makes is None for run in runs)
        words = name, node.kind or "function", "failed" if failed else ""
        text = mermaid_label(*filter(None, words))
        if not self.parts:
            yield f"{self.name}[{text}]"
            return
        yield f"subgraph {self.name} [{text}]"
        for part in self.parts:
            yield from (f"  {line}" for line in part.lines())
        for join in {join.name: join for join in self.joins.values()}.values():
            calls = ", ".join(dict.fromkeys(join.calls.values()))
            yield f"  {join.name}(({mermaid_label(calls)}))"
        yield "end"


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
        self.runs: dict[Visit, DrawnRun] = {}
        self.arrows = defaultdict[tuple[str, str], dict[str, None]](dict)
        self.root = self.box([[root]], depth)
        self.inputs = inputs_of(root)
        self.makers: dict[int, Maker] = {
            mark.number: (f"in{i}", ())
            for i, marks in enumerate(self.inputs.values())
            for mark in marks
        }
        for when, visit, happened in flow_events(root):
            if run := self.runs.get(visit):
                follow_event(self, run, happened, ceil(when))
        for mark in root.runs[0].makes or ():
            draw_arrow(self, mark, "out", (), root.runs[0].end)

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


def place_run(
    flow: ModuleFlow, run: Visit, box: Box, which: tuple[int, int], whole: bool
) -> None:
    """Let a run of a module be drawn in a box; if it is drawn as a
    `whole`, all that is within it too."""
    around = flow.runs.get(flow.facts.outer.get(run, run))
    chain = *(around.chain if around else ()), (box.name, *which)
    flow.runs[run] = DrawnRun(box, chain, True)
    inner = [*flow.facts.parts.get(run, ())] if whole else []
    for part in inner:
        flow.runs[part] = DrawnRun(box, chain, False)
        inner += flow.facts.parts.get(part, ())


def draw_arrow(
    flow: ModuleFlow, mark: Mark, to: str, chain: Chain, when: int
) -> None:
    """Draw an arrow from what made a tensor; none in a loop, from one of
    equal modules, or from one run of a module, to another."""
    name, came = flow.makers.get(mark.number, NOBODY)
    pairs = (pair for pair in zip(came, chain) if pair[0] != pair[1])
    one, other = next(pairs, (("",), ("", "")))
    if name and name != to and not one[0] == other[0] != "":
        shape = few_shapes(*flow.facts.typed([mark], when), 1)
        flow.arrows[name, to][shape] = None


def follow_event(
    flow: ModuleFlow, run: DrawnRun, happened: Step | Visit, when: int
) -> None:
    """Draw what a call reads, or what a module hands on as it came."""
    box, chain, own = run
    makes, maker = happened.makes or [], (box.name, chain)
    if isinstance(happened, Visit):
        reads = makes = makes if own and not box.parts else []
    elif box.parts:
        reads, maker = happened.reads, call_source(flow, run, happened)
    else:
        reads = happened.reads
        makes = [x for x in makes if x not in reads]  # x.to(x.dtype)
    for mark in reads:
        draw_arrow(flow, mark, maker[0], chain, when)
    for mark in makes:
        flow.makers[mark.number] = maker


def call_source(flow: ModuleFlow, run: DrawnRun, step: Step) -> Maker:
    """Tell where what a module's own call makes comes from: from the
    call, if it joins tensors of several boxes; else from where they came,
    if so. Of equal modules a call is drawn in the first; in a loop, where
    it was."""
    found = [flow.makers.get(mark.number, NOBODY) for mark in step.reads]
    found = [maker for maker in dict.fromkeys(found) if maker != NOBODY]
    if len(found) < 2:
        return found[0] if found else NOBODY
    joins, nth = run.box.joins, flow.times[run.chain, step.call]
    flow.times[run.chain, step.call] += 1
    if (step.call, nth) not in joins:
        same = {x.name for x in joins.values() if step.call in x.calls}
        names = {name for name, _ in found}
        sources = frozenset("" if x in same else x for x in names)
        new = JoinNode(f"{run.box.name}_{len(joins)}", {})
        joins[step.call, nth] = joins.setdefault(sources, new)
    join = joins[step.call, nth]
    join.calls[step.call] = step.name.strip("_")
    return join.name, run.chain


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
    found = (mark for run in runs for mark in run.given)
    return {"input": [mark for mark in found if mark.number not in made]}


def flow_events(root: Node) -> list[tuple[float, Visit, Step | Visit]]:
    """List the calls, and the ends of modules' runs, in order; each with the
    visit that it is in."""
    calls = root.facts.calls
    found: list[tuple[float, Visit, Step | Visit]] = [
        (i, step.visit, step) for i, step in enumerate(calls.steps)
    ]
    found += [(run.end - 0.5, run, run) for run in calls.run.visits]
    return sorted(found, key=itemgetter(0))


def mermaid_of(root: Node, depth: int) -> str:
    """Write the modules of a tree, down to a depth, and what goes where."""
    flow = ModuleFlow(root, depth)
    used = {name for pair in flow.arrows for name in pair}
    lines = ["flowchart TD"]
    for i, name in enumerate(flow.inputs):
        lines += [f"  in{i}([{mermaid_label(name)}])"] * (f"in{i}" in used)
    lines += [f"  {line}" for line in flow.root.lines()]
    lines += ["  out([output])"] * ("out" in used)
    for (start, end), shapes in flow.arrows.items():
        texts = [*shapes][:MOST_AT_ARROW]
        texts += ["…"] * (len(shapes) > MOST_AT_ARROW)
        lines.append(f"  {start} -->|{mermaid_label(', '.join(texts))}| {end}")
    return "\n".join(lines)


def mermaid_label(*lines: str) -> str:
    """Write a label, in quotes: one line below the other."""
    texts = (line.translate(SIGNS) for line in lines)
    return '"' + "<br>".join(texts) + '"'
