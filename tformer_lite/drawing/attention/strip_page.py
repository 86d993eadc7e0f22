"""How a strip is drawn: matrices, operators, words, frames and scales."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from matplotlib.figure import Figure

from tformer_lite.drawing.attention.chains import Chain, Operator, scales, unit
from tformer_lite.drawing.attention.strip_layout import (
    BETWEEN,
    CHANNELS,
    HEAD,
    TINY,
    Line,
    Spot,
    best_layout,
    has_words,
    height,
    is_sign,
)
from tformer_lite.drawing.surface.matrix import Matrix, number
from tformer_lite.drawing.surface.page import (
    NAME,
    SMALL,
    Box,
    Page,
    Place,
    Style,
    text_width,
)
from tformer_lite.drawing.surface.palette import INK, KINDS, MUTED, TRUTH

Ends = dict[str, tuple[float, float]]
NAMED, LEGEND = 22, 18  # the name of a chain; a row of scales below all
LONG = 175  # pixels that a scale needs
WORD = 11  # pixels that a word needs


@dataclass(frozen=True)
class Strip:
    """A page on which chains are drawn: how large its cells are, and which
    values the colours of a unit stand for."""

    page: Page
    cell: float
    ends: Ends


def draw_chains(
    chains: Sequence[Chain], width: float
) -> tuple[Figure, list[Box]]:
    """Draw chains one below the other, and say where each matrix is."""
    cell, laid = best_layout(chains, width)
    high = sum(height(line, cell) for lines in laid for line in lines)
    high += NAMED * sum(bool(chain.name) for chain in chains)
    matrices = [matrix for chain in chains for matrix in chain.matrices]
    ends = scales(matrices)
    rows = -(-len(ends) // scales_beside(width))
    strip = Strip(Page(width, high + 8 + LEGEND * rows), cell, ends)
    boxes, y = [], 0.0
    for chain, lines in zip(chains, laid):
        if chain.name:
            name: Style = {"ha": "left", "weight": "bold", "size": NAME}
            strip.page.write(0, y + NAMED / 2, chain.name, **name)
            y += NAMED
        for line in lines:
            boxes += draw_line(strip, line, y, chain.row)
            y += height(line, cell)
    draw_scales(strip, high + 4 + LEGEND / 2)
    return strip.page.figure, boxes


def draw_line(
    strip: Strip, line: Line, y: float, row: int | None
) -> list[Box]:
    """Draw a line from y down, and say where its matrices are."""
    if line.above:
        draw_between(strip.page, line, y)
        y += height(line, strip.cell) - height(
            Line(0, [], line.spots), strip.cell
        )
    top = y + HEAD
    boxes, high = [], max(len(m.values) for m in line.matrices)
    for spot in line.spots:
        if isinstance(spot.link, Operator):
            middle = top + high * strip.cell / 2
            draw_operator(strip.page, spot, middle)
        else:
            boxes.append(draw_matrix(strip, spot, spot.link, top, row))
    return boxes


def draw_matrix(
    strip: Strip, spot: Spot, matrix: Matrix, top: float, row: int | None
) -> Box:
    """Draw a matrix with its name, shape and words; give its place."""
    page, cell, sizes = strip.page, strip.cell, matrix.values.shape
    middle = spot.left + spot.width / 2
    left, wide = middle - cell * sizes[1] / 2, cell * sizes[1]
    name: Style = {"weight": "bold", "size": NAME}
    page.write(middle, top - HEAD + 8, matrix.title, **name)
    page.shape(middle, top - 21, matrix.axes, tuple(sizes))
    box = left, top, wide, cell * sizes[0]
    kind = KINDS["weights" if unit(matrix) == "weights" else "scores"]
    ends = strip.ends[unit(matrix)]
    page.cells(box, matrix.values.float(), kind, ends, matrix.hidden)
    framed = row if matrix.axes[0] == "T" else None
    if framed is not None:
        page.frame((left - 2, top + framed * cell - 1, wide + 4, cell + 2))
    if spot.words:
        draw_rows(strip, matrix, (left, top), framed)
    draw_columns(strip, matrix, (left, top + box[3]))
    return box


def draw_rows(
    strip: Strip, matrix: Matrix, corner: tuple[float, float], row: int | None
) -> None:
    """Write the words of the rows; the framed one is bold."""
    (left, top), step = corner, math.ceil(WORD / strip.cell)
    for i, word in enumerate(matrix.labels[0]):
        if i % step == 0 or i == row:
            style = style_of(word) | ({"weight": "bold"} if i == row else {})
            y = top + (i + 0.5) * strip.cell
            strip.page.write(left - 6, y, word, ha="right", **style)


def draw_columns(
    strip: Strip, matrix: Matrix, corner: tuple[float, float]
) -> None:
    """Write the words of the columns, turned; or that they are channels."""
    (left, low), words = corner, matrix.labels[1]
    if not has_words(matrix, 1):
        middle = left + len(words) * strip.cell / 2
        strip.page.note(middle, low + 10, CHANNELS)
        return
    step = math.ceil(WORD / strip.cell)
    turn: Style = {"rotation": 60, "rotation_mode": "anchor", "ha": "right"}
    for i, word in list(enumerate(words))[::step]:
        x = left + (i + 0.5) * strip.cell + 3
        style = turn | {"va": "center"} | style_of(word)
        strip.page.write(x, low + 6, word, **style)


def style_of(word: str) -> Style:
    """How a word is written: `[PAD]` is no word, and grey."""
    return {"size": SMALL, "color": (MUTED if word == "[PAD]" else INK)[0]}


def draw_operator(page: Page, spot: Spot, y: float) -> None:
    """Draw what stands between two matrices, y in its middle."""
    operator, middle = spot.link, spot.left + spot.width / 2
    assert isinstance(operator, Operator)
    if is_sign(operator):
        page.write(middle, y, operator.name, weight="bold", size=15)
        return
    half = draw_mask(page, operator, middle, y)
    page.write(middle, y - half - 9, operator.name, weight="bold")
    y += half + 5 * bool(half)
    half_width = spot.width / 2 - 5
    page.arrow((middle - half_width, y), (middle + half_width, y))
    for i, note in enumerate(operator.notes):
        page.note(middle, y + 11 + 12 * i, note)


def draw_mask(page: Page, operator: Operator, x: float, y: float) -> float:
    """Draw a small mask around a place; say how far it reaches up."""
    if operator.mask is None:
        return 0
    rows, columns = operator.mask.shape
    if rows == 1:
        rows = columns  # stretched
    mask = operator.mask.expand(rows, columns)
    tiny = TINY / max(rows, columns)
    wide, high = tiny * columns, tiny * rows
    box = x - wide / 2, y - high / 2, wide, high
    page.cells(box, mask.float(), TRUTH, (0, 1), ~mask)
    return high / 2


def draw_between(page: Page, line: Line, y: float) -> None:
    """Draw the operators that lead from the line above to this one."""
    x = line.spots[0].left
    page.arrow((x + 8, y + 4), (x + 8, y + BETWEEN - 6))
    for operator in line.above:
        x += 20
        if operator.mask is not None:
            draw_mask(page, operator, x + TINY / 2, y + BETWEEN / 2)
            x += TINY + 8
        name: Style = {"weight": "bold", "ha": "left"}
        page.write(x, y + BETWEEN / 2, operator.name, **name)
        x += text_width(operator.name, weight="bold") + 8
        notes = " ".join(operator.notes)
        page.note(x, y + BETWEEN / 2, notes, ha="left")
        x += text_width(notes, SMALL)


def scales_beside(width: float) -> int:
    """How many scales have room beside each other."""
    return max(1, int(width // LONG))


def draw_scales(strip: Strip, y: float) -> None:
    """Draw a tiny scale for each unit: its lowest and highest value."""
    beside = scales_beside(strip.page.width)
    for i, (name, ends) in enumerate(strip.ends.items()):
        x = i % beside * (LONG + 8.0)
        draw_scale(strip.page, (x, y + i // beside * LEGEND), name, ends)


def draw_scale(
    page: Page, place: tuple[float, float], name: str, ends: Place
) -> None:
    """Draw the scale of a unit from its lowest to its highest value."""
    x, y = place
    texts = [name, *(number(end).replace("-", "−") for end in ends)]
    if name == "weights":
        texts[1:] = "0", "1"
    for text in texts[:2]:
        page.note(x, y, text, ha="left")
        x += text_width(text, SMALL) + 6
    kind = KINDS["weights" if name == "weights" else "scores"]
    page.cells((x, y - 5, 45, 10), torch.linspace(*ends, 9)[None], kind, ends)
    page.note(x + 51, y, texts[2], ha="left")
