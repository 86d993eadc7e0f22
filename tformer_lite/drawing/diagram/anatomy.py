"""Anatomy of a traced model: its parts in the order in which they ran, each
with the named shape that it gives."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shapewatch.tracing import Trace
from shapewatch.tracing.axes.names import Shape

# What is before a stack or a block, and the way from there to an attention.
BLOCK_PATH = re.compile(r"(.*?)((?:blocks\.\d+\.)?)(?:self|cross)_attention\b")
EMBEDDING_NAMES = {"encoder": "src_embedding", "decoder": "tgt_embedding"}


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the model: its name, what is written in its box, the path of
    its module, the last step that ran in it, and the shape that it gives:
    () where the run does not have it."""

    name: str
    label: str
    path: str
    step: int
    shape: Shape


@dataclass(frozen=True, eq=False)
class Side:
    """An encoder or a decoder: every part, those of the first block only;
    the paths of the stack and of that block, both with a dot at the end; and
    how many blocks it has."""

    name: str
    every: Sequence[Part]
    stack: str
    block: str
    n_blocks: int

    @property
    def parts(self) -> list[Part]:
        """The parts of a strip: of all norms only the last to run."""
        norms = [part for part in self.every if part.name == "norm"][:-1]
        return [part for part in self.every if part not in norms]

    def part(self, name: str) -> Part | None:
        """Find the first part of a name."""
        return next((part for part in self.parts if part.name == name), None)


def steps_in(seen: Trace, module: str) -> list[int]:
    """Number the steps of a module, and of those in it; of all, for ""."""
    paths = [f"{step.visit.path}." for step in seen.steps]
    start = f"{module}." if module else ""
    return [i for i, path in enumerate(paths) if path.startswith(start)]


def sides_of(seen: Trace) -> list[Side]:
    """Find the stacks of blocks that ran, in order, each with what is before
    it and behind it; a block that was traced alone is a stack of one."""
    paths = [step.visit.path for step in seen.steps]
    ways = dict[str, str]()
    for found in filter(None, map(BLOCK_PATH.match, paths)):
        ways.setdefault(found[1], found[2])
    sides = []
    for stack, way in ways.items():
        block = stack + way
        parts = list(parts_of(seen, stack, block, last=stack == [*ways][-1]))
        inner = re.compile(rf"{re.escape(stack)}blocks\.(\d+)\.")
        n = len({m[1] for m in map(inner.match, paths) if m})
        crossed = any(part.name == "cross_attention" for part in parts)
        name = stack.rstrip(".").rpartition(".")[2] or (
            "decoder" if crossed else "block"
        )
        sides.append(Side(name, parts, stack, block, max(n, 1)))
    return sides


def parts_of(
    seen: Trace, stack: str, block: str, last: bool
) -> Iterator[Part]:
    """List the parts of a side in the order in which they ran, without those
    that make no torch call; the `last` side has the head."""
    *root, name = stack.rstrip(".").rpartition(".")
    above = "".join(root)
    either = EMBEDDING_NAMES.get(name, "embedding"), "embedding"
    first = next((x for x in either if steps_in(seen, above + x)), None)
    if first and (ran := steps_in(seen, above + first)):
        yield Part("ids", "ids", "", ran[0], seen.axes[ran[0]][0][0])
    rows = list(modules(f"{above}{first}", stack, block))
    rows += [("head", "head", f"{above}head")] * last
    found = {}
    for part, label, path in rows:
        if ran := steps_in(seen, path):
            shape = seen.axes[ran[-1]][1][0]
            found[ran[-1]] = Part(part, label, path, ran[-1], shape)
    for i in steps_in(seen, block.rstrip(".")):  # the block's own are its sums
        step, shape = seen.steps[i], seen.axes[i][1][0]
        if f"{step.visit.path}." == block and step.name == "add":
            found[i] = Part("residual", "+", f"{block}sum", i, shape)
    yield from (found[i] for i in sorted(found))


def modules(
    first: str, stack: str, block: str
) -> Iterator[tuple[str, str, str]]:
    """List what a side may have: name, label and path of each module."""
    yield "embedding", "embed", f"{first}.tokens"
    yield "positions", "positions", f"{first}.positions"
    for name in "self_attention", "cross_attention", "feed_forward":
        yield name, name.replace("_", "-"), f"{block}{name}"
    for i in range(3):
        yield "norm", "norm", f"{block}norms.{i}"
    yield "norm", "norm", f"{stack}norm"
