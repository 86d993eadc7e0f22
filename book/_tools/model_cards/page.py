"""A card as HTML: a part of a page, or a page that stands alone. Nothing here
needs PyTorch, so that a book of cards is built without it."""

import re
from collections.abc import Mapping
from html import escape
from string import Template
from typing import Any

from model_cards import HERE, SIZES
from model_cards.drawing import cache_of, parameters, picture

SHEETS = "shapewatch/tracing/style/trace.css", "book/_static/card.css"
MARKED_NAME = re.compile(r"([^\W\d]\w*)")


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
    names = [*SIZES, *sizes]
    ordered = sorted(sizes, key=names.index)
    counts = "".join(size_html(name, sizes[name]) for name in ordered)
    kinds = parts_html(data["parts"], links or {}, own)
    costs = "".join(
        row_html(name, cost_html(text))
        for name, text in data["rows"]
        if name != "sizes" and name not in data["parts"]
    )
    return (
        f'<div class="card-of"><div>{picture(data)}<dl>{counts}</dl></div>'
        f"<details><summary>Parts and costs</summary><table>"
        f"<tbody>{kinds}</tbody><tbody>{costs}</tbody></table></details>"
        f"<details><summary>Modules and their shapes</summary>{data['tree']}"
        f"</details></div>"
    )


def tile_html(name: str, place: str, data: Mapping[str, Any]) -> str:
    """Write what a wall of models has of one: a link to its card, its picture,
    numbers to sort by, and a box to tick."""
    numbers = {
        "parameters": parameters(data),
        "year": data.get("year", 0),
        "heads": data["run"]["H"],
        "cache": cache_of(data),
    }
    sorts = "".join(f' data-{x}="{n:g}"' for x, n in numbers.items())
    return (
        f'<li{sorts}><b><a href="#{place}">{escape(name)}</a></b>'
        f'{picture(data)}<label title="Compare"><input type="checkbox" '
        f'value="{place}" aria-label="Compare {escape(name)}"></label></li>'
    )


def size_html(name: str, n: int) -> str:
    """Write a size: its name, and what it counts."""
    words = SIZES[name]["words"] if name in SIZES else ""
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
    formula = f'<span class="formula">{equals}{letters_html(formula)}</span>'
    return f"<b>{escape(value)}</b>{formula}"


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
    style = "\n".join(
        (HERE.parents[2] / sheet).read_text("utf8") for sheet in SHEETS
    )
    page = Template((HERE / "page.html").read_text("utf8"))
    card = card_html(data).replace("<details>", "<details open>", 1)
    return page.substitute(name=escape(data["class"]), style=style, card=card)
