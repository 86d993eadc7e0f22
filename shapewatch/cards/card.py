"""A card of a model: its sizes, its parts, its costs and its modules."""

import re
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch

from shapewatch.cards.configs import Plan
from shapewatch.cards.costs import Formula, Line, costs, product, step_data
from shapewatch.cards.parts import Parts, parts_of
from shapewatch.tracing.axes.sizes import LETTERS, Sizes
from shapewatch.tracing.tracer import Trace, trace
from shapewatch.tracing.tree.tree import Tree, content_html

BYTES = 2  # of a number, in half precision
WORDS = 1000  # that a word is given, where its cost depends on them


@dataclass(frozen=True)
class Card:
    """What was measured of a model.

    `name` is its class, `layers` how many it has, `parts` says which kinds of
    parts. Of `parameters`, of the numbers that are `kept` while it writes,
    and of the `flops` of a run there are formulas, proved at other sizes.
    """

    name: str
    layers: int
    seen: Trace
    parts: Parts
    parameters: Formula
    kept: Formula
    flops: Formula

    @property
    def run(self) -> Sizes:
        """The sizes of the run that was traced."""
        return self.seen._calls.run.sizes

    @property
    def sizes(self) -> Sizes:
        """The sizes of the model alone, as far as a formula has them."""
        texts = self.parameters.text, self.flops.text, self.kept.text
        used = {*LETTERS.findall(" ".join(texts))} - {"B", "T", "S"}
        return {name: n for name, n in self.run.items() if name in used}

    @property
    def active(self) -> Formula:
        """The parameters at work for a word: of experts, the chosen ones."""
        chosen = {"experts": "top_k"}
        return Formula(
            [
                Line(path, tuple(chosen.get(x, x) for x in axes), times)
                if "experts" in path.split(".")
                else Line(path, axes, times)
                for path, axes, times in self.parameters.lines
            ]
        )

    @property
    def word(self) -> str:
        """The axis of the words, where a model reads one sentence and has
        the same work for each word; else "", and costs are those of a run."""
        both = "S" in self.run and ("T" in self.run or "side" in self.run)
        word = "T" if "T" in self.run else "S"
        axes = [product(line.axes)[0] for line in self.flops.lines]
        return word if all(word in some for some in axes) and not both else ""

    def rows(self) -> list[tuple[str, str]]:
        """List what the card says, each under its name."""
        of = self.parameters
        found = [
            ("sizes", ", ".join(f"{n}={x}" for n, x in self.sizes.items())),
            *self.parts.items(),
            ("parameters", f"{of.value(self.run):,} = {of.text}"),
        ]
        if self.active.lines != of.lines:
            active = self.active.value(self.run)
            found.append(("parameters at work for a word", f"{active:,}"))
        return [*found, self.work(), *self.memory()]

    def work(self) -> tuple[str, str]:
        """Say what is computed for a word of a long text, or in a run."""
        flops = self.flops.over("B", *self.word)
        sizes = self.run | dict.fromkeys(self.word, WORDS)
        used = LETTERS.findall(flops.text)
        long = [f"{x}={sizes[x]:,}" for x in "TS" if x in used]
        many = f"{short(flops.value(sizes))} at {', '.join(long)}"
        each = "word" if self.word else "run"
        return f"FLOPs a {each}", f"{many} = {flops.text}"

    def memory(self) -> list[tuple[str, str]]:
        """Say what the cache keeps of a word that is written, and of one that
        is read, where both are."""
        found, lines = [], self.kept.lines
        axes = [product(line.axes)[0] for line in lines]
        both = {"T", "S"} <= {*chain(*axes)}
        for letter, what in ("T", " written"), ("S", " read"):
            own = Formula(
                [x for x, some in zip(lines, axes) if letter in some]
            )
            if own.lines:
                own = own.over("B", letter)
                size = own.value(self.run) * BYTES
                plain = re.sub(r"\(.*\)", "", own.text)  # a sum, or its parts?
                text = f"({own.text})" if " + " in plain else own.text
                text = f"{size:,} bytes = {BYTES} bytes × {text}"
                found.append((f"cache a word{what * both}", text))
        return found

    def data(self) -> dict[str, Any]:
        """Give all of it for JSON; `steps` are the products of matrices."""
        formulas = {
            "parameters": self.parameters,
            "cache": self.kept,
            "active": self.active,
        }
        return {
            "class": self.name,
            "layers": self.layers,
            "dims": self.seen._calls.given,
            "run": self.run,
            "sizes": self.sizes,
            "parts": self.parts,
            "rows": self.rows(),
            "tree": tree_html(self.seen.tree()),
            "steps": step_data(self.seen),
        } | {
            name: [[path, " ".join(axes), n] for path, axes, n in each.lines]
            for name, each in formulas.items()
        }

    def __str__(self) -> str:
        """Write the card, and the tree of its modules."""
        head = f"{self.name}: {self.parts['stacks']}, {self.layers} layers"
        rows = self.rows()
        room = max(len(name) for name, _ in rows) + 2
        lines = [f"{name:{room}}{text}" for name, text in rows]
        return "\n".join([head, "", *lines, "", str(self.seen.tree())])


def short(n: int) -> str:
    """Write a number with three digits: 15.5 billion."""
    power = min(len(str(n)) - 1, 14) // 3
    word = ("", "thousand", "million", "billion", "trillion")[power]
    return f"{n / 1000**power:.3g} {word}".rstrip()


def tree_html(tree: Tree) -> str:
    """Write the modules of a model as lists, without the calls in them."""
    inside = content_html(tree._root, 0, tree.depth, {})
    return f'<div class="trace-tree">{inside}</div>'


def measure(plan: Plan) -> Card:
    """Build a model without weights, run it at several sizes, and say what
    was found. ValueError says in a line why it cannot be built so."""
    name = plan.kind.__name__
    try:
        with torch.no_grad():
            seen = trace(build=plan.build, dims=plan.dims)
            found = costs(seen, plan.build)
    except Exception as error:
        says = " ".join(str(error).split())
        raise ValueError(
            f"{name} cannot be built and run without weights: "
            f"{type(error).__name__}: {says:.300}"
        ) from error
    config = plan.config
    layers = getattr(config, "num_hidden_layers", 0) or config.n_layers
    return Card(name, layers, seen, parts_of(seen, plan.config), *found)
