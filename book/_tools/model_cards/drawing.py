"""A model, drawn: its parameters as a square, its heads as bars, and a grid
for each kind of layer of what a position sees. The words beside them are HTML,
and `card.css` has the colours. Nothing here needs PyTorch."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from math import sqrt
from typing import Any

BILLION = 2.4  # pixels: the side of a square of as many parameters
ROW, HEAD, HIGH = 32, 5, 22  # heads in a row; a head's width; all rows' height
SIDE = 8  # of a grid, in positions
WINDOW = re.compile(r"([\d,]+) positions in (\w+).*? layers(, in blocks)?")
Numbers = Mapping[str, int]
Kinds = Mapping[str, str]
Data = Mapping[str, Any]
Sees = Callable[[int, int], bool]  # whether position i sees position j
# Kinds of layers that see otherwise than by a window, and how to say it.
OTHER: dict[str, tuple[str, Sees]] = {
    "recurrent layers": ("a state", lambda i, j: i == j),
    "convolutions": ("the last few", lambda i, j: 0 <= i - j < 3),
    "layers that choose positions": (
        "chosen words",
        lambda i, j: i == j or (j < i and (3 * i + 2 * j) % 5 < 2),
    ),
    "layers with compressed keys": ("old words merged", lambda i, j: j <= i),
    "feed-forward layers alone": ("only itself", lambda i, j: i == j),
}


def picture(data: Data) -> str:
    """Draw a model, with words that say the same."""
    run, count = data["run"], parameters(data)
    side = max(2, BILLION * sqrt(count / 1e9))
    year = f'<span class="year">{data.get("year", "")}</span>'
    cache = f'<span class="cache">{cache_text(data)}</span>'
    grids = "".join(
        f"<li>{grid(sees)} <span>{words} <br>{where}</span></li>"
        for sees, words, where in views(data["parts"], data["layers"])
    )
    return (
        f'<div class="drawn"><i style="--side:{side:.3g}px"></i>'
        f"<p><b>{short_count(count)}</b> <span>{year}{cache} <br>"
        f"{expert_text(data)}</span></p>"
        f"{heads_svg(run)}<p>{heads_text(run)}</p><ul>{grids}</ul></div>"
    )


def parameters(data: Data) -> int:
    """Read how many parameters a model has."""
    return int(dict(data["rows"])["parameters"].split()[0].replace(",", ""))


def short_count(count: int) -> str:
    """Write a count in three digits, or a small one in full."""
    if count < 1e5:
        return f"{count:,}"
    unit, size = ("M", 1e6) if count < 999.5e6 else ("B", 1e9)
    return f"{count / size:#.3g}".rstrip(".") + f"<small> {unit}</small>"


def cache_of(data: Data) -> float:
    """Read how many bytes the cache has for each word, 0 without one."""
    for name, text in data["rows"]:
        if name.startswith("cache"):
            amount = int(text.split()[0].replace(",", ""))
            return amount / 1000 if "1,000" in name else amount
    return 0


def cache_text(data: Data) -> str:
    """Say the same, and whether there is a state besides."""
    if not (amount := cache_of(data)):
        return "no cache"
    more = " + state" * ("recurrent layers" in data["parts"])
    more += " written" * ("and" in data["parts"].get("stacks", ""))
    return f"{amount / 1e3:#.3g}".rstrip(".") + f" kB a word{more}"


def expert_text(data: Data) -> str:
    """Say how many experts work on a word."""
    if "expert layers" not in data["parts"]:
        return ""
    return f"{data['run']['top_k']} of {data['run']['experts']} experts"


def key_heads(run: Numbers) -> int:
    """How many heads of keys and values there are, if any."""
    return 1 if "kv_rank" in run else run.get("kv_heads", run.get("H", 0))


def heads_text(run: Numbers) -> str:
    """Say how many heads there are, and how many keys, if they share them."""
    heads, many = run.get("H", 0), key_heads(run)
    words = f"{heads} head{'s' * (heads != 1)}"
    if "kv_rank" in run:
        return f"{words}, keys from 1 vector"
    return words + f" share {many} key{'s' * (many > 1)}" * (many < heads)


def heads_svg(run: Numbers) -> str:
    """Draw the heads of queries in rows, and under each row keys and values,
    as wide as the heads that share them."""
    if "H" not in run:
        return ""
    heads, each = run["H"], run["H"] / key_heads(run)
    row = int(ROW // each * each) or ROW
    counts = [min(row, heads - first) for first in range(0, heads, row)]
    high, wide = HIGH / len(counts), HEAD * counts[0]
    paths = ""
    for n, thick, middle in (1, 0.5, 0.25), (each, 0.2, 0.72):
        d = "".join(
            f"M0 {high * (i + middle):.4g}h{HEAD * many - 1}"
            for i, many in enumerate(counts)
        )
        paths += (
            f'<path d="{d}" stroke-width="{high * thick:.3g}" '
            f'stroke-dasharray="{HEAD * n - 1:g} 1"/>'
        )
    look = f'class="heads" style="--wide:{wide}px"'
    return f"<svg {look} {size(wide, HIGH)}>{paths}</svg>"


def size(wide: float, high: float) -> str:
    """Write the size of a drawing whose words stand beside it."""
    both = f'width="{wide:g}" height="{high:g}"'
    return f'{both} viewBox="0 0 {wide:g} {high:g}" aria-hidden="true"'


def views(parts: Kinds, layers: int) -> Iterator[tuple[Sees, str, str]]:
    """List what positions see in each stack or each kind of layer: a rule, and
    how to say it and where."""
    stacks = parts.get("stacks", "decoder").split(" and ")
    other = {x: int(parts[x].split()[0]) for x in OTHER if x in parts}
    for stack in stacks:
        causal, rest = stack == "decoder", layers - sum(other.values())
        every, some = ("all so far", "last") if causal else ("all", "nearest")
        if band := WINDOW.match(parts.get("window", "")):
            width, near, block = band.groups()
            many = rest if near == "all" else int(near)
            rest -= many
            words = f"{'block' if block else some} {width}"
            yield sight(causal, 2, 3 * bool(block)), words, layers_text(many)
        if rest > 0:
            where = stack if stacks[1:] else layers_text(rest)
            yield sight(causal, SIDE), every, where
    for kind, many in other.items():
        words, rule = OTHER[kind]
        yield rule, words, layers_text(many)


def layers_text(many: int) -> str:
    return f"{many} layer{'s' * (many != 1)}"


def sight(causal: bool, width: int, block: int = 0) -> Sees:
    """Give a rule of who sees whom: as far as some cells, or in its block."""
    if block:
        return lambda i, j: j <= i and i // block == j // block
    return lambda i, j: 0 <= i - j <= width if causal else abs(i - j) < width


def grid(sees: Sees) -> str:
    """Draw what positions see: a row each, dark where it sees a position."""
    d = ""
    for i in range(SIDE):
        for seen, run in groupby(range(SIDE), lambda j, i=i: sees(i, j)):
            places = [*run]
            d += f"M{places[0]} {i}.5h{len(places)}" * seen
    back = f'<rect width="{SIDE}" height="{SIDE}"/>'
    return f'<svg {size(SIDE, SIDE)}>{back}<path d="{d}"/></svg>'
