"""Patches: the pixels of images are followed by their numbers from call to
call, into the rows of tokens and back, and must stay neighbours."""

from contextlib import suppress
from itertools import chain
from math import isqrt, prod
from typing import Any, NamedTuple

import torch
from torch import Size, Tensor

from shapewatch.properties.attention_parts import trace_run
from shapewatch.properties.finding import BROKEN, UNUSUAL
from shapewatch.properties.outputs import select_output
from shapewatch.properties.subject import Subject
from shapewatch.tracing.questions.flow import (
    JOINS,
    MOVES,
    SCALES,
    SUMS,
    Data,
    call_again,
)
from shapewatch.tracing.record.tensors import tensors

# A roll is left out: what shifts some channels makes no patches.
CARRIES = (MOVES | JOINS) - {"roll"} | {"gather", "take_along_dim"}
CARRIES |= {"unfold", "fold", "pixel_shuffle", "pixel_unshuffle"}
BY_ROW = {"linear", "matmul", "mm", "bmm", "einsum"}
ORDER = (
    "A view or reshape moves no element. Cut an image into (B, C, h, P, w, P),"
    " permute to (B, h, w, P, P, C), and only then merge; and the other way "
    "round for an image of rows."
)
Fault = tuple[str, str]  # what is wrong, and how bad that is


class Pixels(NamedTuple):
    """Where in a grid (C, h, w) each element of a tensor comes from: its
    number there, from 1, or 0 for none. In one of `tokens`, a row each."""

    numbers: Tensor
    size: tuple[int, ...]
    tokens: bool = False

    @property
    def once(self) -> bool:
        """Whether a first sentence has each element once, and no others."""
        numbers = self.numbers[0].flatten().sort().values
        count = prod(self.size)
        every = torch.arange(1, count + 1).to(numbers)
        return numbers[-count:].equal(every) and not numbers[:-count].any()

    @property
    def alike(self) -> bool:
        """Whether each row of a tensor comes from one place."""
        cells = self.cells().where(self.numbers > 0, -1)
        return bool((cells == cells[..., :1]).all())

    def cells(self) -> Tensor:
        """Number the places in the grid from 0, whatever the channel."""
        return (self.numbers - 1) % (self.size[1] * self.size[2])

    def boxes(self) -> tuple[Tensor, ...]:
        """Of each row of a tensor, give the first row and column of the grid,
        how many there are from first to last, and how many cells it has."""
        cells, some = self.cells(), self.numbers > 0
        ends = []
        for at in cells // self.size[2], cells % self.size[2]:
            least = at.where(some, torch.inf).amin(-1)
            ends.append((least, at.where(some, -1).amax(-1) - least + 1))
        (top, high), (left, wide) = ends
        new = cells.where(some, -1).sort(-1).values.diff(dim=-1) != 0
        return top, left, high, wide, new.sum(-1) + some.all(-1)


def patch_fault(subject: Subject) -> Fault | None:
    """Say which pixels make no patch, or come out elsewhere; or None."""
    given = [x for x in tensors([*subject.given]) if is_grid(x)]
    if not given:
        return None
    data = Data(trace_run(subject, subject.given, keep=True)._calls)
    flow = PixelFlow(data, given, subject.model)
    for i, step in enumerate(data.steps):
        if fault := flow.follow(i):
            says, level = fault
            return f"In {step.visit.path or 'the model'}, {says}", level
    return output_fault(subject, flow)


def is_grid(x: Tensor) -> bool:
    """Whether an input is images (B, C, H, W), several of them, or vectors
    (B, T, C): channels do not come last, as far as sizes tell."""
    last = x.ndim > 3 and x.shape[-1] <= 4 < x.shape[1]
    return x.is_floating_point() and x.ndim in (3, 4, 5) and not last


def grid(shape: Size) -> Pixels:
    """Number the elements of a grid (B, ..., h, w)."""
    numbers = 1 + torch.arange(shape[1:].numel(), dtype=torch.float64)
    size = shape[1:-2].numel(), *shape[-2:]
    return Pixels(numbers.view(shape[1:]).expand(shape), size)


class PixelFlow:
    """The pixels in each tensor of a run, by its mark's number."""

    def __init__(self, data: Data, given: list[Tensor], model: Any):
        self.data, self.given, self.model = data, given, model
        self.at: dict[int, Pixels | None] = {}

    def reads(self, i: int) -> list[Pixels | None]:
        """Give the pixels in what a step reads."""
        marks = self.data.steps[i].reads
        for n, mark in enumerate(marks):
            if self.data.sources[i][n] is None and mark.number not in self.at:
                at = self.data.received(i, n).data_ptr()
                known = [x.shape for x in self.given if x.data_ptr() == at]
                found = grid(mark.shape) if mark.shape in known else None
                self.at[mark.number] = found
        return [self.at.get(mark.number) for mark in marks]

    def follow(self, i: int) -> Fault | None:
        """Follow pixels through a step, and say what is wrong there."""
        reads, marks = self.reads(i), self.data.steps[i].makes
        fault, made = None, list[Pixels | None]()
        if any(reads):
            fault, made = through(self, i, reads, marks[0].shape)
        self.at |= dict.fromkeys(mark.number for mark in marks)
        self.at |= {mark.number: x for mark, x in zip(marks, made)}
        return fault


def through(
    flow: PixelFlow, i: int, reads: list[Pixels | None], shape: Size
) -> tuple[Fault | None, list[Pixels | None]]:
    """Say what is wrong in what a step reads, and give what it makes."""
    name, x = flow.data.names[i], next(filter(None, reads))
    same = [x for x in reads if x and x.numbers.shape == shape]
    if name in CARRIES or (name == "einsum" and len(reads) == 1):
        return None, carried(flow.data, i, reads)
    if name in BY_ROW:
        if x is not reads[0] or x.numbers.shape[:-1] != shape[:-1]:
            return None, []
        alone = not any(reads[1:])
        return row_fault(flow, x), [by_row(x, shape) if alone else None]
    resizes = name.startswith("conv") or not same
    if resizes and x is reads[0] and x.numbers.ndim == len(shape) > 3:
        kept = same[0] if same else None
        return image_fault(flow, i, x), [next_grid(x, shape) or kept]
    if same:
        return position_fault(flow, i, same[0]), [same[0]]
    return None, []


def carried(
    data: Data, i: int, reads: list[Pixels | None]
) -> list[Pixels | None]:
    """Move pixels as a step moves what it reads; whole grids that are put
    together become one, with the channels of all."""
    known = [x for x in reads if x]
    (c, *sides), *others = (x.size for x in known)
    apart = len(known) > 1 and all(x.once for x in known)
    if any([*size[1:]] != sides for size in others):
        return []
    if not apart and any(size[0] != c for size in others):
        return []
    given, before = [], 0
    for n, (x, mark) in enumerate(zip(reads, data.steps[i].reads)):
        if x:
            given.append((x.numbers + before).where(x.numbers > 0, 0))
            before += apart * prod(x.size)
        elif mark.dtype.is_floating_point:
            given.append(torch.zeros(mark.shape, dtype=torch.float64))
        else:
            given.append(data.received(i, n))
    size = before // prod(sides) if apart else c, *sides
    tokens = any(x.tokens for x in known)
    with suppress(Exception):
        made = call_again(data, i, given)
        return [Pixels(x, size, tokens) for x in made]
    return []


def by_row(x: Pixels, shape: Size) -> Pixels | None:
    """Number the rows of a tensor (..., T, C) by their patches, if these are
    of one size and side by side."""
    (_, h, w), some = x.size, (x.numbers > 0).any(-1)
    if not some.any():
        return None
    top, left, high, wide, count = x.boxes()
    r, s = (int(ends.flatten()[some.int().argmax()]) for ends in (high, wide))
    tiles = (high == r) & (wide == s) & (count == r * s)
    tiles &= (top % r == 0) & (left % s == 0)
    if h % r or w % s or not tiles[some].all():
        return None
    size = shape[-1], h // r, w // s
    first = top // r * size[2] + left // s + 1
    channels = torch.arange(size[0]) * (size[1] * size[2])
    numbers = first[..., None] + channels
    return Pixels(numbers.where(some[..., None], 0), size, True)


def row_fault(flow: PixelFlow, x: Pixels) -> Fault | None:
    """Say which row of a tensor is no patch of the grid that it was moved
    from, each element once."""
    (c, h, w), numbers = x.size, x.numbers.flatten(0, -2)
    full = (numbers > 0).sum(-1)
    numbers = numbers[(full > 0) & (full.cumsum(0) <= c * h * w)]
    rows = Pixels(numbers, x.size)
    if x.alike or not rows._replace(numbers=numbers[None]).once:
        return None
    _, _, high, wide, count = rows.boxes()
    if len(count) == h * w != c and (count > 1).any():
        shifted = rows.cells().sort(0).values == torch.arange(h * w)[:, None]
        if shifted.all():  # each channel by itself
            return None
        return row_text(flow, rows, count > 1), BROKEN
    gaps = count < high * wide
    wrong = gaps | ((numbers > 0).sum(-1) % count != 0)
    level = BROKEN
    if not wrong.any():
        level = strip_level(flow, rows) if x.numbers.ndim < 4 else ""
    elif gaps.all():
        level = lattice_level(flow, rows)
    if x.tokens or not level:
        return None
    return row_text(flow, rows, wrong | (high != wide)), level


def lattice_level(flow: PixelFlow, rows: Pixels) -> str:
    """How bad it is that rows have gaps: those of a series may be phases."""
    steps = [step_size(Pixels(row, rows.size)) for row in rows.numbers]
    if all(steps) and flow.given[0].ndim < 4:
        return ""
    return UNUSUAL if min(steps) > 1 else BROKEN


def step_size(row: Pixels) -> int:
    """How far apart the pixels of a row are, at least, if they are so in both
    directions, all alike; or 0."""
    cells, width = row.cells().unique(), row.size[2]
    axes = [x.unique() for x in (cells // width, cells % width)]
    steps = [x.diff().unique().tolist() or [width] for x in axes]
    if len(cells) < len(axes[0]) * len(axes[1]) or max(map(len, steps)) > 1:
        return 0
    return int(min(steps)[0])


def strip_level(flow: PixelFlow, rows: Pixels) -> str:
    """How bad it is that patches are strips, as many pixels as squares would
    have; or "". An image that was cut into squares has sides of that length;
    and some models name it."""
    (c, h, w), k, image = rows.size, rows.numbers.shape[-1], flow.given[0]
    _, _, high, wide, count = (int(x[0]) for x in rows.boxes())
    p = isqrt(k // c)
    square = p > 1 and p * p * c == k and h % p == w % p == 0
    if not square or image.shape[1:] != rows.size or high == wide:
        return ""
    shapes = (x.numbers.shape for x in flow.at.values() if x)
    cuts = [{high, wide} <= {*x} for x in shapes if len(x) > 5]
    line = (high, wide) in ((1, w), (h, 1))
    one_colour = k < c * count and not line
    if one_colour or not all(cuts) or calls_patch(flow.model, p):
        return BROKEN
    return "" if line or cuts else UNUSUAL


def calls_patch(model: Any, p: int) -> bool:
    """Whether a model calls p the size of a patch."""
    parts: Any = getattr(model, "modules", list)()
    named = chain.from_iterable(vars(part).items() for part in parts)
    sizes = [x for name, x in named if "patch" in name or name == "p"]
    plain = [x for x in sizes if isinstance(x, int | tuple | list)]
    return any(x in plain for x in (p, (p, p), [p, p]))


def row_text(flow: PixelFlow, rows: Pixels, wrong: Tensor) -> str:
    """Say which pixels a wrong row has, and what to do."""
    (c, h, w), (n, k) = rows.size, rows.numbers.shape
    i, image = int(wrong.int().argmax()), flow.given[0].shape[1:]
    top, left, high, wide, count = (int(x[i]) for x in rows.boxes())
    pixels = "pixels" if image == rows.size else f"of {h} × {w} positions"
    how = ORDER
    if (n, k) == (h * w, c) or len(image) < 3:
        how = "A view or reshape moves no element: transpose first."
    return (
        f"token {i} of {n} is no patch: it has {count} {pixels}, from rows "
        f"{top} to {top + high - 1} and columns {left} to {left + wide - 1}. "
        f"{how}"
    )


def image_fault(flow: PixelFlow, i: int, x: Pixels) -> Fault | None:
    """Say where a convolution, or a resizing, takes for neighbours what is
    none."""
    name, reads = flow.data.names[i], flow.data.steps[i].reads
    if name.startswith("conv"):
        least = min(reads[1].shape[2:])
    elif name == "interpolate":
        least = 2
    else:
        return None
    cells = x.cells()
    sees = least > 1 or bool((cells != cells[:, :1]).any())
    if flow.given[0].ndim < 4 or not sees or not fits(x, x.size[1:]):
        return None
    if arrangement(x) == "scrambled":
        return cell_text(x), UNUSUAL if is_by_token(x) else BROKEN
    return None


def is_by_token(x: Pixels) -> bool:
    """Whether each channel of an image is one token of a grid."""
    cells, (_, h, w) = x.cells(), x.size
    alike = (cells == cells[..., :1, :1]).all()
    return bool(alike) and x.numbers.shape[1] == h * w


def fits(x: Pixels, sides: tuple[int, ...]) -> bool:
    """Whether an image has sides in such a ratio, whichever comes first."""
    (*_, a, b), (m, n) = x.numbers.shape, sides
    return a * n == b * m or a * m == b * n


def next_grid(x: Pixels, shape: Size) -> Pixels | None:
    """Number the grid that a step makes of another."""
    how = arrangement(x)
    if how == "turned":
        turned = grid(Size((*shape[:-2], shape[-1], shape[-2])))
        return turned._replace(numbers=turned.numbers.mT)
    return grid(shape) if how == "in order" else None


def arrangement(x: Pixels) -> str:
    """Tell how the cells of a grid stand in an image (B, ..., a, b): "in
    order"; "turned", with rows for columns; "shifted", each channel by itself;
    "scrambled"; or "partial", where some are missing, and others may not be
    in order."""
    (_, h, w), cells, none = x.size, x.cells(), x.numbers == 0
    if min(h, w, *cells.shape[-2:]) < 2 or none.all():
        return ""
    pairs = {"in order": (cells, none), "turned": (cells.mT, none.mT)}
    for name, (at, no) in pairs.items():
        if (no | (at == in_order(at.shape, h, w))).all():
            return name
    rows, columns = cells // w, cells % w
    if is_shifted(rows, columns, h, w) or is_shifted(columns, rows, h, w):
        return "shifted"
    return "scrambled" if x.once or is_late(x) else "partial"


def is_late(x: Pixels) -> bool:
    """Whether tokens stand in an image one after the other, but start late:
    another one, such as a class token, is before them."""
    channels = x.cells().where(x.numbers > 0, -1)[0].flatten(0, -3).flatten(1)
    start = int((channels[0] < 0).sum())
    steps = channels[:, start:].diff()
    alike = (channels == channels[:1]).all()
    return start > 0 and steps.numel() > 0 and bool(alike & (steps == 1).all())


def in_order(shape: Size, h: int, w: int) -> Tensor:
    """Give the cells that stand in an image (..., a, b) in order: (a, b)."""
    *_, a, b = shape
    rows, columns = torch.arange(a) * h // a, torch.arange(b) * w // b
    return rows[:, None] * w + columns


def is_shifted(y: Tensor, z: Tensor, h: int, w: int) -> bool:
    """Whether each channel has whole rows and whole columns, in few pieces:
    it may be rolled, or turned round."""
    whole = (y == y[..., :1]).all() and (z == z[..., :1, :]).all()
    steps = y[..., 0].diff(), z[..., 0, :].diff()
    pieces = torch.cat([x.ne(0).sum(-1).flatten() for x in steps])
    few = min(h, w) <= pieces.min() + 1 and pieces.max() <= max(h, w)
    return bool(whole and few)


def cell_text(x: Pixels) -> str:
    """Say which cell of a grid is where another should be, and what to do."""
    (_, h, w), cells = x.size, x.cells()
    right = in_order(cells.shape, h, w).expand_as(cells)
    wrong = (cells != right) & (x.numbers > 0)
    place = tuple(wrong.nonzero()[0].tolist())
    (row, column), (r, c) = (divmod(int(x[place]), w) for x in (cells, right))
    how = "Are h and w, rows and columns, exchanged at one end?"
    return (
        f"row {place[-2]}, column {place[-1]} of the image comes from row "
        f"{row}, column {column} of a grid {h} × {w}, and not from row {r}, "
        f"column {c}. {how if arrangement(x) == 'turned' else ORDER}"
    )


def output_fault(subject: Subject, flow: PixelFlow) -> Fault | None:
    """Say which pixels of an image come out elsewhere."""
    run, image = flow.data.calls.run, flow.given[0].shape[1:]
    output = select_output(subject.pick, run.result, subject.inputs[-1])
    pairs = zip(tensors(run.result), run.gives)
    found = [flow.at.get(mark.number) for x, mark in pairs if x is output]
    x = next(filter(None, found), None)
    if x and x.numbers.ndim == 3:
        x = x._replace(numbers=x.numbers[:, None])
    if not x or x.numbers.ndim != 4 or len(image) != 3:
        return None
    cells, (_, c, a, b) = x.cells(), x.numbers.shape
    flat = any((y == y[:, :1, :, :1]).all() for y in (cells, cells.mT))
    if flat and (output.ndim == 3 or c not in (1, image[0])):
        return None  # tokens, or heads
    last = x._replace(numbers=x.numbers.movedim(-1, 1))
    if is_by_token(x) or arrangement(last) == "in order":
        return None
    wrong = {
        "scrambled": fits(x, image[1:]),
        "turned": a * image[2] == b * image[1],
        "partial": (a, b) == image[1:],
    }
    if wrong.get(arrangement(x)):
        return f"At the end, {cell_text(x)}", BROKEN
    return None


def position_fault(flow: PixelFlow, i: int, x: Pixels) -> Fault | None:
    """Say that tokens of a grid h × w get the positions of one w × h."""
    (_, h, w), (*_, n, c) = x.size, x.numbers.shape
    if flow.data.names[i] not in SUMS | SCALES or h == w or min(h, w) < 2:
        return None
    rows = x._replace(numbers=x.numbers.reshape(-1, n, c)[0])
    cells = rows.cells()[:, 0].where(rows.numbers[:, 0] > 0, -1)
    order = cells.argsort()[-h * w :]
    if not rows.alike or cells[order].tolist() != [*range(h * w)]:
        return None
    for m, mark in enumerate(flow.data.steps[i].reads):
        if not flow.at.get(mark.number) and mark.shape[-2:] == (n, c):
            table = flow.data.read(i, m).reshape(-1, n, c)[0, order]
            if is_sum(table.view(w, h, c)) and not is_sum(table.view(h, w, c)):
                says = (
                    f"tokens of a grid {h} × {w} get the positions of a grid "
                    f"{w} × {h}: are rows and columns exchanged?"
                )
                return says, BROKEN
    return None


def is_sum(table: Tensor) -> bool:
    """Whether a table (h, w, C) is one of rows and one of columns, added."""
    rows, columns = table.mean(1, True), table.mean(0, True)
    rest = (table - rows - columns + rows.mean(0)).abs().max()
    varies = min(x.std((0, 1)).max() for x in (rows, columns))
    return bool(rest <= 1e-5 * table.abs().max() < varies)
