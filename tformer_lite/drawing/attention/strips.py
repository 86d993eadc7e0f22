"""Strips: a chain of matrices in one row, with its operators between."""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from shapewatch.tracing.questions.attention import Attention
from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.attention.heatmaps import draw_scales, label_cells
from tformer_lite.drawing.surface.matrix import (
    Matrix,
    check_known,
    largest,
    table_of,
)
from tformer_lite.drawing.surface.page import (
    HALF,
    NAME,
    SMALL,
    Page,
    Place,
    Style,
    crop,
    place_on_page,
    shape_width,
    text_width,
)
from tformer_lite.drawing.surface.palette import AXES, DARK, KINDS, TRUTH
from tformer_lite.drawing.surface.picture import Panel, Picture, with_style

StripLabels = Sequence[str] | Sequence[Sequence[str]] | None
FAR = 1e4  # what a mask takes away from a score, at least
MASK, SOFTMAX = "+ mask\n0 or −∞", "softmax\nrows sum to 1"
LARGEST, LEAST = 16.5, 11.0  # cells, in pixels
HEAD_HEIGHT, NAME_HEIGHT = 54, 22  # above the cells; the name of a chain
MATRIX_GAP, SIGN_GAP, TINY = (
    14,
    26,
    30,
)  # between matrices: nothing, a sign, a mask


def strip(
    *links: Any,
    at: Sequence[int] = (0, 0),
    axes: str | Sequence[str] = "T S",
    rows: StripLabels = None,
    columns: StripLabels = None,
    row: int | str | None = None,
    titles: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
) -> Picture:
    """Draw matrices in one row, with operators between: (T, S) -> a picture.

    Matrices and operators alternate as in the equation, `strip(q, "@", k.mT,
    "=", raw, "÷ √D", scores)`; a mask, of booleans, is drawn small. Lines of
    an operator after its first stand below its arrow. What
    `Trace.attention()` finds is a whole chain, and so is a list: several
    stand one below the other. Axes before the last two are indexed by `at`:
    example and head.

    `axes` names the axes of all matrices, or of each. `rows` are the words
    of T, and `columns` those of S (left out, they are the same): one list,
    or one for each chain. The `row` of a number or word is framed. `titles`
    replaces what you wrote for each matrix; `names` are those of chains.
    Scores share one scale, and so do matrices with channels. Raises
    ValueError for what is no matrix, and for names that do not fit.

    >>> strip(torch.zeros(2, 3), "softmax", softmax(torch.zeros(2, 3)))
    torch.zeros(2, 3) (T, S) = (2, 3), softmax, softmax(torch.zeros(2, ...
    """
    parts = chain_links(links, argument_texts(sys._getframe(1)))
    shown = [link for part in parts for link in part if link.is_matrix]
    each = [axes] * len(shown) if isinstance(axes, str) else axes
    check_count("axes", each, shown)
    check_count("titles", titles or shown, shown)
    check_count("names", names or parts, parts)
    for i, link in enumerate(shown):
        link.axes, link.title = each[i], titles[i] if titles else link.title
    chains = []
    for i, part in enumerate(parts):
        path = getattr(links[i], "path", "") if len(parts) > 1 else ""
        name = names[i] if names else path
        words = words_of(rows, i), words_of(columns or rows, i)
        made = list(links_of(part, at, dict(zip("TS", words))))
        chains.append(Chain(name, made, row_of(row, made)))
    if row is not None and all(chain.row is None for chain in chains):
        raise ValueError(f"{row=} is in no chain.")
    figures, panels = draw_chains(chains)
    return Picture(figures, chain_description(chains), DARK, panels=panels)


@dataclass(frozen=True)
class Operator:
    """What makes the next matrix: its name, what is said below its arrow,
    and the mask, if it is one."""

    name: str
    notes: Sequence[str] = ()
    mask: Tensor | None = None


@dataclass(frozen=True)
class Chain:
    """Matrices with operators between, and the number of the framed row."""

    name: str
    links: Sequence[Matrix | Operator]
    row: int | None = None

    @property
    def matrices(self) -> list[Matrix]:
        """The matrices alone."""
        return [each for each in self.links if isinstance(each, Matrix)]

    def names(self) -> Iterator[str]:
        """Name each link, a matrix with its shape if that is a new one."""
        before = ""
        for link in self.links:
            if isinstance(link, Operator):
                yield link.name
                continue
            shape = f"({', '.join(link.axes)}) = {tuple(link.values.shape)}"
            yield f"{link.title} {shape}" if shape != before else link.title
            before = shape

    def words(self) -> Iterator[str]:
        """Say what is there, to someone who does not see it."""
        name = f"{self.name}: " if self.name else ""
        yield f"{name}{', '.join(self.names())}."
        masked = [matrix.hidden for matrix in self.matrices]
        for hidden in filter(torch.any, masked):
            yield f"{hidden.sum()} of {hidden.numel()} cells are masked."
            break
        if self.row is not None:
            word = self.matrices[0].labels[0][self.row]
            yield f"Row {self.row} ({word}) is framed."
        last = self.matrices[-1]
        yield largest(last).replace("Largest", f"Largest of {last.title}")


def chain_description(chains: Sequence[Chain]) -> str:
    """Say what chains show: one paragraph of words, then the numbers."""
    words = " ".join(said for chain in chains for said in chain.words())
    numbers = [
        table_of(matrix, f"{chain.name} {matrix.title}".strip())
        for chain in chains
        for matrix in chain.matrices
    ]
    return "\n\n".join([words, *filter(None, numbers)])


def words_of(labels: Any, i: int) -> Any:
    """Find the words of a chain."""
    return labels if not labels or isinstance(labels[0], str) else labels[i]


def check_count(what: str, given: Sequence, wanted: Sequence) -> None:
    """Raise ValueError unless there is one for each."""
    if len(given) != len(wanted):
        raise ValueError(f"{len(given)} {what} for {len(wanted)} to name.")


def row_of(
    row: int | str | None, made: Sequence[Matrix | Operator]
) -> int | None:
    """Find the row to be framed in a chain, if it has one."""
    first = next(each for each in made if isinstance(each, Matrix))
    words = first.labels[0]
    if isinstance(row, str):
        return words.index(row) if row in words else None
    return row if row is not None and 0 <= row < len(words) else None


@dataclass
class Link:
    """A matrix, a mask or an operator, as it was given and written."""

    thing: Any
    title: str
    axes: str = "T S"
    kind: str | None = None

    @property
    def is_mask(self) -> bool:
        """Whether it is one of booleans."""
        return getattr(self.thing, "dtype", None) is torch.bool

    @property
    def is_matrix(self) -> bool:
        """Whether it has a panel of its own."""
        return not (self.is_mask or isinstance(self.thing, str))


def chain_links(links: Sequence[Any], texts: list[str]) -> list[list[Link]]:
    """Divide what was given into chains. Raises ValueError for a chain
    without a matrix."""
    texts = texts or ["matrix"] * len(links)
    several = [isinstance(each, list | tuple) for each in links]
    if any(several) and not all(several):
        raise ValueError(
            "a strip is one chain, or several: attentions and lists alone."
        )
    if not any(several):
        parts = [list(map(Link, links, map(plain_title, texts)))]
    else:
        parts = list(map(chain_of, links, texts))
    if not all(any(link.is_matrix for link in part) for part in parts):
        raise ValueError("a strip needs a matrix, and so does each chain.")
    return parts


def chain_of(given: Any, text: str) -> list[Link]:
    """Make a chain of an attention, or of a list as it was written."""
    if isinstance(given, Attention):
        return list(attention_links(given))
    node = ast.parse(text, mode="eval").body
    elements = getattr(node, "elts", [])
    texts = list(map(ast.unparse, elements)) or ["matrix"] * len(given)
    return list(map(Link, given, map(plain_title, texts)))


def attention_links(found: Attention) -> Iterator[Link]:
    """Make a chain of an attention; a mask is what hides scores."""
    scores, masked, weights = found.scores, found.masked, found.weights
    yield Link(scores, "scores", kind="scores")
    hidden = masked.isneginf() | (masked < scores - FAR)
    if hidden.any():
        yield Link(~hidden, "mask")
    elif not torch.equal(scores, masked):
        yield Link("+ bias", "")
    if not torch.equal(scores, masked):
        yield Link(masked, "masked", kind="scores")
    yield Link(SOFTMAX, "")
    yield Link(weights, "weights", kind="weights")


def plain_title(text: str) -> str:
    """Write an expression as the title of one matrix: without its index, and
    with a T where it is transposed."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    if isinstance(node, ast.Subscript):
        return plain_title(ast.unparse(node.value))
    if isinstance(node, ast.Attribute) and node.attr in ("mT", "T"):
        return f"{plain_title(ast.unparse(node.value))}ᵀ"
    if isinstance(node, ast.Attribute):
        return node.attr
    return ast.unparse(node)


def links_of(
    part: list[Link], at: Sequence[int], words: dict[str, Any]
) -> Iterator[Matrix | Operator]:
    """Look up matrices and masks at a place. What a mask hides stays so."""
    mask = None
    for link in part:
        if not link.is_matrix:
            text = MASK if link.is_mask else link.thing
            name, *notes = text.split("\n")
            if link.is_mask:
                mask = matrix_at(link.thing, "mask", at)
            yield Operator(name, notes, mask if link.is_mask else None)
            continue
        made = matrix_of(link, at, words, mask)
        if made.hidden.any():
            mask = ~made.hidden
        yield made


def matrix_of(
    link: Link, at: Sequence[int], words: dict[str, Any], mask: Tensor | None
) -> Matrix:
    """Make a matrix with its words; a mask is one of T and S."""
    letters = tuple(link.axes.split())
    for letter in letters:
        check_known("axis", letter, AXES)
    if len(letters) != 2:
        raise ValueError(f"axes {link.axes!r} must be two letters.")
    inside = letters == ("T", "S")
    return Matrix(
        link.title,
        matrix_at(link.thing, link.title, at),
        letters,
        [words.get(letter) for letter in letters],
        mask if inside else None,
        link.kind or (None if inside else "scores"),
    )


def matrix_at(values: Any, title: str, at: Sequence[int]) -> Tensor:
    """Look up the matrix of an example and head. Raises ValueError where
    there is none."""
    values = torch.as_tensor(values)
    lead = values.shape[:-2]
    if len(at) < len(lead) or any(
        not -n <= i < n for i, n in zip(at, lead) if n > 1
    ):
        raise ValueError(
            f"{title} has shape {tuple(values.shape)}: at={tuple(at)} must "
            f"choose one of {tuple(lead)}."
        )
    return values[tuple(i if n > 1 else 0 for i, n in zip(at, lead))]


@dataclass(frozen=True)
class Step:
    """A matrix, the operators before it, and whether the words of its rows
    stand at its left."""

    operators: Sequence[Operator]
    matrix: Matrix
    words: bool

    @property
    def margin(self) -> float:
        """How much room the words take."""
        rows = self.matrix.labels[0] if self.words else []
        bold = [text_width(word, SMALL, "bold") for word in rows]
        return max(bold, default=-MATRIX_GAP) + MATRIX_GAP

    @property
    def before(self) -> float:
        """How much room the words and the operators take."""
        return sum(map(operator_width, self.operators)) + self.margin

    def width(self, cell: float) -> float:
        """How wide it is with all that belongs to it."""
        return self.before + matrix_width(self.matrix, cell)


@dataclass(frozen=True)
class Strip:
    """How large the cells of a strip are, and which values the colours of a
    unit stand for."""

    cell: float
    ends: Mapping[str, Place]


def draw_chains(chains: Sequence[Chain]) -> tuple[list[Figure], list[Panel]]:
    """Draw chains one after the other, and say where each matrix is."""
    matrices = [matrix for chain in chains for matrix in chain.matrices]
    strip = Strip(best_cell(chains), scales(matrices))
    figures, panels = list[Figure](), list[Panel]()
    for i, chain in enumerate(chains):
        for j, steps in enumerate(broken(chain, strip.cell)):
            page, axes = draw_panel(strip, chain, steps)
            if j == 0:
                left: Style = {"ha": "left", "weight": "bold", "size": NAME}
                page.write(0, NAME_HEIGHT / 2, chain.name, **left)
            if not figures:
                draw_scales(page, strip.ends)
            number = len(figures)
            figures.append(crop(page.figure))
            panels += [
                Panel(step.matrix, place_on_page(page.figure, ax), number, i)
                for step, ax in zip(steps, axes)
            ]
    return figures, panels


def scales(matrices: Iterable[Matrix]) -> dict[str, Place]:
    """Find the lowest and the highest value that a unit's colours show."""
    most: dict[str, float] = {}
    for matrix in matrices:
        sizes = matrix.values.double()[~matrix.hidden].abs()
        largest = max([0.0, *sizes[sizes.isfinite()].tolist()])
        most[unit(matrix)] = max(most.get(unit(matrix), 0), largest)
    ends = {name: (-(x or 1.0), x or 1.0) for name, x in most.items()}
    return ends | ({"weights": (0.0, 1.0)} if "weights" in ends else {})


def unit(matrix: Matrix) -> str:
    """Tell what a matrix's values are: those of one unit share a scale."""
    if matrix.kind == "weights":
        return "weights"
    return "scores" if set(matrix.axes) <= {"T", "S"} else "channels"


def best_cell(chains: Sequence[Chain]) -> float:
    """Choose the largest cells that need the fewest panels."""
    parts = [part for chain in chains for part in broken(chain, LEAST)]
    alone = [
        replace(step, words=has_words(step.matrix, 0))
        for part in parts
        for step in part
    ]
    room = min((HALF - x.before - 2) / x.matrix.values.shape[1] for x in alone)
    steps = range(int(2 * (LARGEST - LEAST)) + 1)
    return min(
        (min(LARGEST - step / 2, room) for step in steps),
        key=lambda cell: sum(len(broken(chain, cell)) for chain in chains),
    )


def broken(chain: Chain, cell: float) -> list[list[Step]]:
    """Break a chain into panels: operators go with the matrix behind them,
    and rows are named once in each."""
    panels, operators = list[list[Step]](), list[Operator]()
    end, names = HALF, list[str]()
    for link in chain.links:
        if isinstance(link, Operator):
            operators.append(link)
            continue
        named, rows = has_words(link, 0), link.labels[0]
        step = Step(operators, link, named and rows != names)
        if end + step.width(cell) > HALF:
            step = Step(operators, link, named)
            panels.append([])
            end = 0
        panels[-1].append(step)
        end += step.width(cell)
        operators, names = [], rows if named else names
    *_, before, last = [[], *panels]
    if len(last) == 1 < len(before) and is_sign(last[0].operators[-1]):
        # A result never stands without what it is made of.
        factor = before.pop()
        words = has_words(factor.matrix, 0)
        last.insert(0, replace(factor, words=words))
    return panels


def has_words(matrix: Matrix, axis: int) -> bool:
    """Whether words, or numbers, stand beside an axis: channels have none."""
    return matrix.axes[axis] not in ("C", "D", "F")


def matrix_width(matrix: Matrix, cell: float) -> float:
    """How wide a matrix is with what stands above it."""
    sizes = tuple(matrix.values.shape)
    title = text_width(matrix.title, NAME, "bold")
    return max(cell * sizes[1], title, shape_width(matrix.axes, sizes)) + 2


def operator_width(operator: Operator) -> float:
    """How much room an operator takes before a matrix."""
    if is_sign(operator):
        return SIGN_GAP
    notes = [text_width(note, SMALL) for note in operator.notes]
    return max(text_width(operator.name, weight="bold"), TINY, *notes, 0) + 12


def is_sign(operator: Operator) -> bool:
    """Whether it is written large, without an arrow: @ or =."""
    return len(operator.name) < 3 and operator.mask is None


@with_style
def draw_panel(
    strip: Strip, chain: Chain, steps: Sequence[Step]
) -> tuple[Page, list[Axes]]:
    """Draw a panel of a chain, and give the axes of its matrices."""
    top = HEAD_HEIGHT + NAME_HEIGHT * bool(chain.name)
    high = strip.cell * max(len(step.matrix.values) for step in steps)
    page, axes, x = Page(1, top + high), list[Axes](), -float(MATRIX_GAP)
    for step in steps:
        x += 0 if step.operators else MATRIX_GAP
        for operator in step.operators:
            wide = operator_width(operator)
            draw_operator(page, operator, x + wide / 2, top + high / 2)
            x += wide
        x += step.margin
        wide = matrix_width(step.matrix, strip.cell)
        row = chain.row if step.matrix.axes[0] == "T" else None
        axes.append(draw_step(strip, page, step, (x + wide / 2, top), row))
        x += wide
    return page, axes


def draw_step(
    strip: Strip, page: Page, step: Step, place: Place, row: int | None
) -> Axes:
    """Draw a matrix with its name, shape and words, below a place."""
    matrix, (middle, top), cell = step.matrix, place, strip.cell
    rows, columns = matrix.values.shape
    page.write(middle, top - 46, matrix.title, weight="bold", size=NAME)
    page.shape(middle, top - 21, matrix.axes, (rows, columns))
    box = middle - cell * columns / 2, top, cell * columns, cell * rows
    kind = KINDS["weights" if unit(matrix) == "weights" else "scores"]
    ends = strip.ends[unit(matrix)]
    page.cells(box, matrix.values.float(), kind, ends, matrix.hidden)
    ax = page.axes(box)
    label_cells(ax, matrix, (cell, cell))
    if not step.words:
        ax.set_yticks([])
    if not has_words(matrix, 1):
        ax.set_xticks([])
        page.note(middle, top + box[3] + 10, "channels")
    if row is not None:
        frame = box[0] - 2, top + row * cell - 1, box[2] + 4, cell + 2
        page.frame(frame)
        for text in ax.get_yticklabels():
            framed = text.get_position()[1] == row + 0.5
            text.set_fontweight("bold" if framed else "normal")
    return ax


def draw_operator(page: Page, operator: Operator, x: float, y: float) -> None:
    """Draw what stands before a matrix, centred on a place."""
    if is_sign(operator):
        page.write(x, y, operator.name, weight="bold", size=15)
        return
    half = draw_mask(page, operator, x, y)
    page.write(x, y - half - 9, operator.name, weight="bold")
    y += half + 5 * bool(half)
    reach = operator_width(operator) / 2 - 5
    page.arrow((x - reach, y), (x + reach, y))
    for i, note in enumerate(operator.notes):
        page.note(x, y + 11 + 12 * i, note)


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
