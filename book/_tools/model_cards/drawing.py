"""A picture of one layer of a model, drawn from its sizes: its heads, what a
position sees, and its feed-forward part. Nothing here needs PyTorch."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

BREADTH, HEIGHT, MARGIN = 320, 200, 8
START, ROOM = 22, 290  # of the rows of heads
LOW, FEED, BAR = 93, 146, 68  # the lower half; its right part; a bar
CELL, SIDE = 6.5, 8  # of a mask
WINDOW = re.compile(
    r"([\d,]+) positions in (\w+)(?: of (\d+))? layers(, in blocks)?"
)
# On a light page and on a dark one, as in the book's figures.
HUES = {
    "H": ("#8c672f", "#f78823"),
    "D": ("#2f5201", "#c3f69d"),
    "C": ("#884bcf", "#b77efd"),
    "F": ("#57606a", "#a9b4c0"),
    "ink": ("#1f2328", "#e6edf3"),
}
Numbers = Mapping[str, int]
Kinds = Mapping[str, str]
Box = tuple[float, float, float, float]  # left, top, width, height
Sees = Callable[[int, int], bool]


def picture(run: Numbers, parts: Kinds) -> str:
    """Draw a layer of a model as SVG, which follows the light and dark of a
    page and stands alone; `spoken` says the same."""
    start = (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'width="340" height="212.5" viewBox="0 0 {BREADTH} {HEIGHT}" '
        f'style="max-width:100%;{paint("ink")}" '
        'font-family="system-ui, sans-serif" font-size="11" '
        f'aria-label="{spoken(run, parts)}"><title>One layer</title>'
    )
    return "\n".join([start, *shapes(run, parts), "</svg>\n"])


def shapes(run: Numbers, parts: Kinds) -> list[str]:
    """Draw all three parts of a layer."""
    return [*draw_heads(run), *draw_masks(parts), *draw_feed(run, parts)]


def spoken(run: Numbers, parts: Kinds) -> str:
    """Say what stands in the picture, but for single letters."""
    texts = (re.sub("<[^>]*>", "", shape) for shape in shapes(run, parts))
    return f"One layer: {'; '.join(x for x in texts if len(x) > 1)}."


def key_text(run: Numbers) -> str:
    """Say how many keys and values the heads have."""
    if "kv_rank" in run:
        sizes = [f"{run[n]}" for n in ("kv_rank", "rope_D") if n in run]
        return f"keys and values of all from {' + '.join(sizes)} numbers"
    of = run["H"]
    many = run.get("kv_heads", of)
    if many == 1:
        return f"1 head of keys and values, for all {of}"
    each = f"each for {of // many}" if many < of else "one each"
    each = "shared" if of % many else each
    return f"{many} heads of keys and values, {each}"


def views(parts: Kinds) -> list[tuple[Sees, list[str]]]:
    """List what positions see, in each stack or each kind of layer: whether
    position i sees j, and how to say it."""
    stacks, sights = parts.get("stacks", "decoder").split(" and "), []
    state = parts.get("recurrent layers", "").partition(" of ")[0]
    for stack in stacks:
        causal = stack == "decoder"
        every, some = ("all so far", "last") if causal else ("all", "nearest")
        words = [every, stack][: len(stacks)]
        if band := WINDOW.match(parts.get("window", "")):
            width, layers, of, block = band.groups()
            near = [f"{'block' if block else some} {width}"]
            rule = sight(causal, 2, 3 * bool(block))
            sights.append((rule, [*near, f"{layers} layers"]))
            words = of and [every, f"{int(of) - int(layers)} layers"]
        if words:
            sights.append((sight(causal, SIDE), words))
        if state:
            sights.append((sight(causal, 0), ["a state", f"{state} layers"]))
    return sights


def sight(causal: bool, width: int, block: int = 0) -> Sees:
    """Give a rule of who sees whom: as far as some cells, or in its block."""
    if block:
        return lambda i, j: j <= i and i // block == j // block
    return lambda i, j: 0 <= i - j <= width if causal else abs(i - j) < width


def paint(hue: str, what: str = "fill") -> str:
    light, dark = HUES[hue]
    return f"{what}:{light};{what}:light-dark({light},{dark})"


def label(
    x: float, y: float, text: str, letter: str = "", side: str = "start"
) -> str:
    """Write a line of text, after the letter of an axis in its colour."""
    bold = f'<tspan font-weight="bold" style="{paint(letter[-1:] or "ink")}">'
    first = f"{bold}{letter}</tspan> " * bool(letter)
    at = f'x="{x:g}" y="{y:g}" text-anchor="{side}"'
    return f"<text {at}>{first}{text}</text>"


def fill(boxes: Iterable[Box], hue: str, opacity: float = 1) -> str:
    """Draw boxes."""
    shapes = (f"M{x:.4g} {y:.5g}h{wide:.3g}v{high:.3g}h-{wide:.3g}"
              for x, y, wide, high in boxes)  # fmt: skip
    more = f'style="{paint(hue)}" fill-opacity="{opacity:g}"'
    return f'<path d="{"".join(shapes)}" {more}/>'


def draw_heads(run: Numbers) -> Iterator[str]:
    """Draw the heads of queries in a row, and below them keys and values, each
    as wide as the heads that share it."""
    if "H" not in run:
        return
    heads = run["H"]
    many = 1 if "kv_rank" in run else run.get("kv_heads", heads)
    yield label(MARGIN, 12, f"{heads} query head{'s' * (heads > 1)}", "H")
    if "D" in run:
        words = f"{run['D']} channels each"
        yield label(BREADTH - MARGIN, 12, words, "D", "end")
    groups = heads if heads % many else many
    yield fill(head_boxes(18, 14, groups, heads // groups), "H", 0.85)
    for letter, y in ("q", 20), ("k", 37), ("v", 49):
        yield label(MARGIN, y + 9, letter)
    boxes = head_boxes(37, 10, many) + head_boxes(49, 10, many)
    yield fill(boxes, "H", 0.5)
    yield label(MARGIN, 73, key_text(run))


def head_boxes(y: float, high: float, groups: int, each: int = 1) -> list[Box]:
    """Place heads beside each other, with room between groups."""
    pitch = ROOM / groups
    cell = (pitch - min(4, pitch / 4)) / each
    wide = cell - min(1, cell / 4) * (each > 1)
    return [
        (START + group * pitch + i * cell, y, wide, high)
        for group, i in product(range(groups), range(each))
    ]


def draw_masks(parts: Kinds) -> Iterator[str]:
    """Draw what positions see; what they do not see is hatched."""
    name = parts.get("stacks", "decoder")
    each = "each position sees" if " and " in name else f"{name}: each sees"
    yield label(MARGIN, LOW, each)
    for n, (sees, words) in enumerate(views(parts)):
        left, top, end = MARGIN + 74 * n, LOW + 7, CELL * SIDE
        cells = [
            (left + CELL * j, top + CELL * i, CELL, CELL)
            for i, j in product(range(SIDE), repeat=2)
            if not sees(i, j)
        ]
        yield fill(cells, "F", 0.15)
        d = "".join(
            f"M{x:g} {y + CELL:g}l{CELL} {-CELL}" for x, y, *_ in cells
        )
        for i in range(SIDE + 1):
            d += f"M{left} {top + CELL * i:g}h{end:g}"
            d += f"M{left + CELL * i:g} {top}v{end:g}"
        more = f'style="{paint("F", "stroke")}" stroke-width="0.6"'
        yield f'<path d="{d}" fill="none" {more}/>'
        for k, text in enumerate(words):
            yield label(left, top + end + 13 * (k + 1), text)


def draw_feed(run: Numbers, parts: Kinds) -> Iterator[str]:
    """Draw the widths of a feed-forward layer, or of an expert, as bars; two
    of them are multiplied where it is gated."""
    kind = parts.get("expert layers")
    name = "expert_F" if kind and "expert_F" in run else "F"
    gated = parts.get("feed-forward") == "gated"
    if not {"C", name} <= run.keys():
        return
    yield label(FEED, LOW, "feed-forward" + ", gated" * gated)
    y, middle = LOW + 7, BREADTH - MARGIN - BAR / 2
    for letter in "C", *[name] * (1 + gated), "C":
        wide = BAR * run[letter] / max(run["C"], run[name])
        yield fill([(middle - wide / 2, y, wide, 10)], letter[-1], 0.8)
        yield label(FEED, y + 9, f"{run[letter]:,}", letter)
        y += 14
    if kind:
        chosen, many = run["top_k"], run["experts"]
        more = ", 1 for all" * ("every" in kind)
        yield label(FEED, LOW + 74, f"{chosen} of {many} experts{more}")
