"""What a card says, in rows, as text and as data."""

import re
from itertools import chain
from typing import Any

from model_cards.card import Card
from model_cards.costs import Formula, product, product_steps
from shapewatch.tracing.axes.sizes import LETTERS
from shapewatch.tracing.tree.tree import Tree, content_html

NUMBER_BYTES = 2  # of a number, in half precision
LONG_TEXT = 1000  # words, where the work for one depends on their number


def rows(card: Card) -> list[tuple[str, str]]:
    """List what the card says, each under its name."""
    of = card.parameters
    found = [
        ("sizes", ", ".join(f"{n}={x}" for n, x in card.sizes.items())),
        *card.parts.items(),
        ("parameters", f"{of.value(card.run):,} = {of.text}"),
    ]
    if card.active.lines != of.lines:
        active = card.active.value(card.run)
        found.append(("parameters at work for a word", f"{active:,}"))
    return [*found, work_row(card), *cache_rows(card)]


def work_row(card: Card) -> tuple[str, str]:
    """Say what is computed for a word of a long text, or in a run."""
    flops = card.flops.over("B", *card.word)
    sizes = card.run | dict.fromkeys(card.word, LONG_TEXT)
    used = LETTERS.findall(flops.text)
    long = [f"{x}={sizes[x]:,}" for x in "TS" if x in used]
    many = f"{short(flops.value(sizes))} at {', '.join(long)}"
    each = "word" if card.word else "run"
    return f"FLOPs a {each}", f"{many} = {flops.text}"


def cache_rows(card: Card) -> list[tuple[str, str]]:
    """Say what the cache keeps of a word that is written, and of one that
    is read, where both are."""
    found, lines = [], card.kept.lines
    axes = [product(line.axes)[0] for line in lines]
    both = {"T", "S"} <= {*chain(*axes)}
    for letter, what in ("T", " written"), ("S", " read"):
        own = Formula([x for x, some in zip(lines, axes) if letter in some])
        if own.lines:
            own = own.over("B", letter)
            size = own.value(card.run) * NUMBER_BYTES
            outside = re.sub(r"\([^()]*\)", "", own.text)
            text = f"({own.text})" if " + " in outside else own.text
            text = f"{size:,} bytes = {NUMBER_BYTES} bytes × {text}"
            found.append((f"cache a word{what * both}", text))
    return found


def card_data(card: Card) -> dict[str, Any]:
    """Give all of it for JSON; `steps` are the products of matrices."""
    formulas = {
        "parameters": card.parameters,
        "cache": card.kept,
        "active": card.active,
    }
    return {
        "class": card.name,
        "layers": card.layers,
        "dims": card.seen._calls.given,
        "run": card.run,
        "sizes": card.sizes,
        "parts": card.parts,
        "rows": rows(card),
        "tree": tree_html(card.seen.tree()),
        "steps": product_steps(card.seen),
    } | {
        name: [[path, " ".join(axes), n] for path, axes, n in each.lines]
        for name, each in formulas.items()
    }


def card_text(card: Card) -> str:
    """Write the card, and the tree of its modules."""
    head = f"{card.name}: {card.parts['stacks']}, {card.layers} layers"
    found = rows(card)
    room = max(len(name) for name, _ in found) + 2
    lines = [f"{name:{room}}{text}" for name, text in found]
    tree = card.seen.tree()
    tree.more = "", ""  # it is not at hand, where this is printed
    return "\n".join([head, "", *lines, "", str(tree)])


def short(n: int) -> str:
    """Write a number with three digits: 15.5 billion."""
    power = min(len(str(n)) - 1, 14) // 3
    word = ("", "thousand", "million", "billion", "trillion")[power]
    return f"{n / 1000**power:.3g} {word}".rstrip()


def tree_html(tree: Tree) -> str:
    """Write the modules of a model as lists, without the calls in them."""
    inside = content_html(tree._root, 0, tree.depth, {})
    return f'<div class="trace-tree">{inside}</div>'
