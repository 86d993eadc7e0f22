"""A card of a model: its sizes, its parts, its costs and its modules, as text
and as data."""

import re
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch

from model_cards.configs import Plan
from model_cards.costs import NUMBERS, Formula, costs, product, product_steps
from model_cards.layers import traced
from model_cards.parts import part_kinds
from shapewatch.tracing.axes.sizes import LETTERS, Sizes
from shapewatch.tracing.traced import Trace
from shapewatch.tracing.tree.tree import Tree, content_html

NUMBER_BYTES = 2  # of a number, in half precision
LONG_TEXT = 1000  # words, where the work for one depends on their number


@dataclass(frozen=True)
class Card:
    """What was measured of a model: the run that was traced, its parts, and
    formulas, proved at other sizes; `cache` is of what it keeps."""

    name: str
    layers: int
    record: Trace
    parts: dict[str, str]
    parameters: Formula
    cache: Formula
    flops: Formula

    @property
    def run(self) -> Sizes:
        """The sizes of the run that was traced."""
        return self.record._calls.run.sizes

    @property
    def sizes(self) -> Sizes:
        """The sizes of the model alone, as far as a formula has them."""
        texts = self.parameters.text, self.flops.text, self.cache.text
        used = {*LETTERS.findall(" ".join(texts))} - {"B", "T", "S"}
        return {name: n for name, n in self.run.items() if name in used}

    @property
    def active(self) -> Formula:
        """The parameters at work for a word: of experts, the chosen ones."""
        lines = []
        for line in self.parameters.lines:
            if "experts" in line.path.split("."):
                names = ("top_k" if x == "experts" else x for x in line.axes)
                line = line._replace(axes=tuple(names))
            lines.append(line)
        return Formula(lines)

    @property
    def word(self) -> str:
        """The axis of the words, where a model reads one sentence and has
        the same work for each word; else "", and costs are those of a run."""
        both = "S" in self.run and ("T" in self.run or "side" in self.run)
        word = "T" if "T" in self.run else "S"
        letters = [product(line.axes)[0] for line in self.flops.lines]
        return word if all(word in x for x in letters) and not both else ""


def measure(plan: Plan) -> Card:
    """Build a model without weights, run it at several sizes, and say what
    it has; what keeps it from being built and run is raised as it comes."""
    with torch.no_grad():
        record, *shapes = traced(plan.build, plan.dims)
    formulas = costs(record, *shapes)
    config = plan.config
    layers = getattr(config, "num_hidden_layers", 0) or config.n_layers
    parts = part_kinds(record, formulas[0], config)
    return Card(plan.kind.__name__, layers, record, parts, *formulas)


def rows(card: Card) -> list[tuple[str, str]]:
    """List what the card says, each under its name."""
    count = card.parameters.value(card.run)
    lines = [
        ("sizes", ", ".join(f"{n}={x}" for n, x in card.sizes.items())),
        *card.parts.items(),
        ("parameters", f"{count:,} = {card.parameters.text}"),
    ]
    if card.active.lines != card.parameters.lines:
        active = card.active.value(card.run)
        lines.append(("parameters at work for a word", f"{active:,}"))
    return [*lines, work_row(card), *cache_rows(card)]


def work_row(card: Card) -> tuple[str, str]:
    """Say what is computed for a word of a long text, or in a run."""
    flops = card.flops.over("B", *card.word)
    sizes = card.run | dict.fromkeys(card.word, LONG_TEXT)
    used = LETTERS.findall(flops.text)
    long = [f"{x}={sizes[x]:,}" for x in "TS" if x in used]
    count = f"{short(flops.value(sizes))} at {', '.join(long)}"
    each = "word" if card.word else "run"
    return f"FLOPs a {each}", f"{count} = {flops.text}"


def cache_rows(card: Card) -> list[tuple[str, str]]:
    """Say what the cache keeps of each word, and what of any text."""
    said, lines = [], card.cache.lines
    used = [{"T", "S"} & {*LETTERS.findall(" ".join(x.axes))} for x in lines]
    both = {"T", "S"} <= {*chain(*used)}
    for word, what in ("T", " written"), ("S", " read"), ("", " of any text"):
        kept = Formula([x for x, some in zip(lines, used) if {*word} == some])
        if kept.lines:
            name = f" a word{what * both}" if word else what
            each = kept.over("B", *word)
            if word in LETTERS.findall(each.text):  # not so much for each
                name, each = f" of {LONG_TEXT:,} words", kept.over("B")
            said.append((f"cache{name}", kept_text(card, each)))
    return said


def kept_text(card: Card, kept: Formula) -> str:
    """Write how many bytes are kept, and the formula."""
    size = kept.value(card.run | {"T": LONG_TEXT}) * NUMBER_BYTES
    outside = re.sub(r"\([^()]*\)", "", kept.text)
    text = f"({kept.text})" if " + " in outside else kept.text
    return f"{size:,} bytes = {NUMBER_BYTES} bytes × {text}"


def short(n: int) -> str:
    """Write a number with three digits: 15.5 billion."""
    power = min(len(str(n)) - 1, 14) // 3
    word = ("", "thousand", "million", "billion", "trillion")[power]
    return f"{n / 1000**power:.3g} {word}".rstrip()


def card_data(card: Card) -> dict[str, Any]:
    """Give all of it for JSON; `steps` are the products of matrices."""
    tree = folded_tree(card)
    modules = content_html(tree._root, 0, tree.depth, {})  # without calls
    return {
        "class": card.name,
        "layers": card.layers,
        "dims": card.record._calls.given,
        "run": card.run,
        "sizes": card.sizes,
        "parts": card.parts,
        "rows": rows(card),
        "steps": product_steps(card.record),
        "tree": f'<div class="trace-tree">{modules}</div>',
    } | {
        name: [
            [path, " ".join(axes), times]
            for path, axes, times in getattr(card, name).lines
        ]
        for name in ("parameters", "cache", "active")
    }


def folded_tree(card: Card) -> Tree:
    """Give the tree of modules, in which all layers that are alike are one."""
    tree = card.record.tree()
    nodes = [tree._root]
    for node in nodes:
        groups = dict[tuple, list]()
        for part in node.parts:
            path = NUMBERS.sub(".*", f".{part.path}")
            groups.setdefault((path, part.look), []).append(part)
        vars(node)["groups"] = [*groups.values()]
        nodes += [group[0] for group in groups.values()]
    return tree


def card_text(card: Card) -> str:
    """Write the card, and the tree of its modules."""
    head = f"{card.name}: {card.parts['stacks']}, {card.layers} layers"
    lines = rows(card)
    room = max(len(name) for name, _ in lines) + 2
    tree = folded_tree(card)
    tree.more = "", ""  # it is not at hand, where this is printed
    texts = [f"{name:{room}}{text}" for name, text in lines]
    return "\n".join([head, "", *texts, "", str(tree)])
