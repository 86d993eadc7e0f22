"""A card as HTML: a part of a page, or a page that stands alone. Nothing here
needs PyTorch, so that a book of cards is built without it."""

import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from model_cards.drawing import picture

ROOT = Path(__file__).parents[3]
SHEETS = (
    ROOT / "shapewatch/tracing/style/trace.css",
    ROOT / "book/_static/card.css",
)
# What is counted by each size that a formula has.
SIZE_WORDS = {
    "layers": "",
    "B": "sentences",
    "S": "positions that are read",
    "T": "positions that are written",
    "side": "patches in a row of the picture",
    "H": "heads",
    "kv_heads": "heads of keys and of values",
    "group": "heads that share a key",
    "D": "channels of a head",
    "C": "channels of a word",
    "F": "hidden channels, feed-forward",
    "V": "words in the vocabulary",
    "max_len": "positions in the table",
    "experts": "experts in a layer",
    "top_k": "experts at work for a word",
    "idle": "experts that rest",
    "expert_F": "hidden channels of an expert",
    "q_rank": "channels that all queries are made of",
    "kv_rank": "channels of the short vector",
    "plain_D": "channels of a head without places",
    "rope_D": "channels of a head that are turned",
    "qk_D": "channels of a query, and of a key",
    "value_D": "channels of a value",
    "kv_D": "channels of a value, and of a key without places, together",
}
MARKED_NAME = re.compile(r"([^\W\d]\w*)")
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{name}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 52rem; margin: 1rem auto; padding: 0 1rem; font-family:
system-ui, sans-serif; line-height: 1.5; background: light-dark(#fff, #14181e);
color: light-dark(#1f2328, #e6edf3); }}
{style}
</style>
<body data-theme>
<h1>{name}</h1>
{card}
"""


def card_html(
    data: Mapping[str, Any],
    links: Mapping[str, str] | None = None,
    own: Mapping[str, str] | None = None,
) -> str:
    """Write the card of a model from its data, as `card_data` gives it.

    Parts that `own` has otherwise are marked, and after each stands what
    `links` has of it, as HTML.
    """
    sizes = {"layers": data["layers"]} | data["sizes"]
    names = [*SIZE_WORDS, *sizes]
    counts = "".join(
        size_html(name, sizes[name]) for name in sorted(sizes, key=names.index)
    )
    kinds = parts_html(data["parts"], links or {}, own)
    drawn = picture(data["run"], data["parts"])
    costs = "".join(
        row_html(name, cost_html(text))
        for name, text in data["rows"]
        if name != "sizes" and name not in data["parts"]
    )
    return (
        f'<div class="card-of"><div>{drawn}<dl>{counts}</dl></div>'
        f"<table><tbody>{kinds}</tbody><tbody>{costs}</tbody></table>"
        f"<details><summary>Its modules, and the shapes that they read and "
        f"make</summary>{data['tree']}</details></div>"
    )


def size_html(name: str, n: int) -> str:
    """Write a size: its name, and what it counts."""
    words = SIZE_WORDS.get(name, "")
    words = words.replace("heads of", "head of") if n == 1 else words
    what = f" <span>{words}</span>" if words else ""
    return f"<div><dt>{letters_html(name)}</dt><dd>{n:,}{what}</dd></div>"


def parts_html(
    parts: Mapping[str, str],
    links: Mapping[str, str],
    own: Mapping[str, str] | None,
) -> str:
    """Write a row for each part; those that `own` has otherwise are marked."""
    rows = []
    for name in {**(own or {}), **parts}:
        text = escape(parts.get(name, "none"))
        differs = own is not None and own.get(name) != parts.get(name)
        if differs:
            words = ": ".join(filter(None, ["differs", links.get(name)]))
            text += f" <small><b>≠</b> {words}</small>"
        rows.append(row_html(name, text, ' class="other"' * differs))
    return "".join(rows)


def row_html(name: str, text: str, kind: str = "") -> str:
    """Write a row of a table, of HTML under a name."""
    return f'<tr{kind}><th scope="row">{escape(name)}</th><td>{text}</td></tr>'


def cost_html(text: str) -> str:
    """Write a cost: how much, and the formula in letters of axes."""
    value, equals, formula = text.partition(" = ")
    if not equals:
        return escape(text)
    return f"<b>{escape(value)}</b>{equals}{letters_html(formula)}"


def letters_html(text: str) -> str:
    """Mark the letters of a formula, with a dot between factors."""
    return "".join(
        f'<b class="axis axis-{part}">{part}</b>'
        if part in ("B", "S", "T", "H", "D", "C", "F", "V")
        else part.replace("*", "·")
        for part in MARKED_NAME.split(escape(text))
    )


def page_html(data: Mapping[str, Any]) -> str:
    """Write a page of its own for the card of a model."""
    style = "\n".join(sheet.read_text("utf8") for sheet in SHEETS)
    name = escape(data["class"])
    return PAGE.format(name=name, style=style, card=card_html(data))
