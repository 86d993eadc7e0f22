"""Patches: the pixels of images are followed from call to call, into the rows
of tokens and back, by the numbers of their cells."""

from contextlib import suppress
from math import isqrt
from typing import NamedTuple

import torch
from torch import Tensor

from shapewatch.properties.attention_parts import trace_run
from shapewatch.properties.outputs import select_output
from shapewatch.properties.subject import Subject
from shapewatch.tracing.questions.flow import (
    JOINS,
    MOVES,
    PRODUCTS,
    Data,
    call_again,
)
from shapewatch.tracing.record.tensors import tensors

# A roll is taken for no move: what shifts some channels makes no patches.
CARRIES = (MOVES | JOINS) - {"roll"} | {"gather", "take_along_dim"}
CARRIES |= {"unfold", "fold", "pixel_shuffle", "pixel_unshuffle"}
PATCH_ORDER = (
    "A view or reshape moves no element. Cut an image into (B, C, h, P, w, P),"
    " permute to (B, h, w, P, P, C), and only then merge; and the other way "
    "round for an image of rows."
)


class Pixels(NamedTuple):
    """Which cell of a grid (h, w) each element of a tensor comes from: its
    number in the grid, from 1, or 0 for none; and whether cells are pixels of
    an input."""

    cells: Tensor
    size: tuple[int, int]
    given: bool = False

    def has(self, cells: Tensor) -> bool:
        """Whether each channel of an image, of whatever size, has such cells
        in the place of those of the grid."""
        some = self.cells > 0
        places = numbered(self.cells.shape, self.size).long() - 1
        right = cells.flatten()[places] == self.cells
        return bool(some.any() and (right | ~some).all())

    @property
    def in_order(self) -> bool:
        """Whether each channel of an image is the grid."""
        return self.has(numbered(self.size, self.size))

    @property
    def exchanged(self) -> bool:
        """Whether an image has columns for the rows of the grid: they were
        exchanged before it was cut, or after."""
        h, w = self.size
        cells = numbered(self.size, self.size)
        one_way, other_way = cells.mT, cells.reshape(w, h).mT
        return not self.in_order and (self.has(one_way) or self.has(other_way))

    @property
    def torn(self) -> bool:
        """Whether an image has the cells one after the other, as tokens are,
        and not where they are in the grid."""
        (h, w), cells = self.size, self.cells
        tokens = (cells == cells[:, :1, :, :1]).all()  # a row for each
        tokens |= cells.shape[1] == h * w  # or a channel
        if tokens or min(h, w) < 2 or not cells.all() or self.in_order:
            return False
        return bool((cells.flatten(2).diff() >= 0).all())


def patch_fault(subject: Subject) -> str:
    """Say which pixels make no patch, or come out elsewhere; or ""."""
    images = [x for x in tensors([*subject.given]) if is_image(x)]
    if not images:
        return ""
    data = Data(trace_run(subject, subject.given, keep=True)._calls)
    flow = PixelFlow(data, images)
    for i, step in enumerate(data.steps):
        if says := flow.follow(i):
            return f"In {step.visit.path or 'the model'}, {says}"
    return output_fault(subject, flow)


def is_image(x: Tensor) -> bool:
    """Whether an input is images (B, C, H, W), or several of them: channels
    do not come last, as far as sizes tell."""
    last = x.shape[-1:] <= (4,) and x.shape[1:2] > (4,)
    return x.is_floating_point() and x.ndim in (4, 5) and not last


def numbered(shape: tuple[int, ...], size: tuple[int, int]) -> Tensor:
    """Give the cells of a grid (h, w) in an image (..., a, b): (a, b)."""
    (*_, a, b), (h, w) = shape, size
    rows, columns = torch.arange(a) * h // a, torch.arange(b) * w // b
    return 1.0 + rows.double()[:, None] * w + columns


def grid(shape: tuple[int, ...], given: bool = False) -> Pixels:
    """Number the cells of a grid (..., h, w)."""
    *_, h, w = shape
    cells = numbered(shape, (h, w)).expand(shape).contiguous()
    return Pixels(cells, (h, w), given)


class PixelFlow:
    """The pixels in each tensor of a run, by its mark's number."""

    def __init__(self, data: Data, images: list[Tensor]):
        self.data, self.images = data, images
        self.at: dict[int, Pixels | None] = {}

    def reads(self, i: int) -> list[Pixels | None]:
        """Give the pixels in what a step reads."""
        marks = self.data.steps[i].reads
        for n, mark in enumerate(marks):
            if self.data.sources[i][n] is None and mark.number not in self.at:
                at = self.data.received(i, n).data_ptr()
                known = [x.shape for x in self.images if x.data_ptr() == at]
                found = grid(mark.shape, True) if mark.shape in known else None
                self.at[mark.number] = found
        return [self.at.get(mark.number) for mark in marks]

    def follow(self, i: int) -> str:
        """Follow pixels through a step, and say what is wrong there."""
        reads, marks = self.reads(i), self.data.steps[i].makes
        says, made = "", list[Pixels | None]()
        if any(reads):
            says, made = through(self, i, reads)
        self.at |= dict.fromkeys(mark.number for mark in marks)
        self.at |= {mark.number: x for mark, x in zip(marks, made)}
        return says


def through(
    flow: PixelFlow, i: int, reads: list[Pixels | None]
) -> tuple[str, list[Pixels | None]]:
    """Say what is wrong in what a step reads, and give what it makes."""
    name, step, x = flow.data.names[i], flow.data.steps[i], reads[0]
    shape = step.makes[0].shape
    if name in CARRIES or (name == "einsum" and len(reads) == 1):
        return "", carried(flow.data, i, reads)
    if name in PRODUCTS | {"linear"}:
        if not x or any(reads[1:]) or x.cells.shape[:-1] != shape[:-1]:
            return "", []
        return row_fault(x, len(flow.images[0])), [by_row(x, shape)]
    same = [x for x in reads if x and x.cells.shape == shape]
    convolves = name.startswith("conv")
    if x and x.cells.ndim == len(shape) == 4 and (convolves or not same):
        near = convolves and max(step.reads[1].shape[2:]) > 1
        torn = near and x.cells.shape[2:] == x.size and x.torn
        says = image_text(x) if torn else ""
        return says, [grid(shape) if x.in_order else None]
    alike = all(x.cells.equal(same[0].cells) for x in same)
    return "", [*same[:1]] if alike else []


def carried(
    data: Data, i: int, reads: list[Pixels | None]
) -> list[Pixels | None]:
    """Move pixels as a step moves what it reads."""
    given, known = [], [x for x in reads if x]
    if len({x.size for x in known}) > 1:
        return []
    for n, (x, mark) in enumerate(zip(reads, data.steps[i].reads)):
        if x:
            given.append(x.cells)
        elif mark.dtype.is_floating_point:
            given.append(torch.zeros(mark.shape, dtype=torch.float64))
        else:
            given.append(data.received(i, n))
    with suppress(Exception):
        made = call_again(data, i, given)
        return [known[0]._replace(cells=x) if x.any() else None for x in made]
    return []


def by_row(x: Pixels, shape: tuple[int, ...]) -> Pixels | None:
    """Number the rows of a tensor (..., T, C) by their patches, if these are
    of one size and side by side."""
    (h, w), some = x.size, x.cells > 0
    ends = []
    for at in (x.cells - 1) // w, (x.cells - 1) % w:
        first = at.where(some, torch.inf).amin(-1)
        ends.append((first, at.where(some, -1).amax(-1)))
    none = ~some.any(-1)  # of another input, such as a class token
    (top, bottom), (left, right) = ends
    high, wide = (int((b - a).max()) + 1 for a, b in ends)
    if h % high or w % wide:
        return None
    size = h // high, w // wide
    if size == (1, 1):
        return None
    cells = 1 + top // high * size[1] + left // wide
    last = 1 + bottom // high * size[1] + right // wide
    if not (none | (cells == last)).all():
        return None
    cells = cells.where(~none, 0)[..., None].expand(shape)
    return Pixels(cells.contiguous(), size)


def row_fault(x: Pixels, batch: int) -> str:
    """Say that tokens (..., T, C), each as many elements as a square patch,
    are an image read on and on, channel by channel or line by line; unless a
    token is a piece of a line, whole lines, or whole channels."""
    (h, w), k, cells = x.size, x.cells.shape[-1], x.cells[x.cells > 0]
    c = len(cells) // (batch * h * w)
    p = isqrt(k // c) if c else 0
    if x.cells.ndim > 3 or p * p * c != k or h % p or w % p:
        return ""
    cells, every = cells[: c * h * w], torch.arange(1, h * w + 1)
    planes = c > 1 and (cells.view(c, -1) == every).all()
    by_line = (cells.view(h, c, w) == every.view(h, 1, w)).all()
    last = (cells.view(-1, c) == every[:, None]).all()
    if not planes and not (x.given and (by_line or last)):
        return ""
    piece = k if planes else p * p
    colour = planes and (c == 3 or not x.given)  # lines of one are no patch
    lines = piece % w == 0 == h * w % piece and not colour
    channels = piece == h * w or (p > 1 and piece % (h * w) == 0)
    right = w % piece == 0 or lines or channels
    return "" if right else row_text(x, cells, k)


def row_text(x: Pixels, cells: Tensor, k: int) -> str:
    """Say which pixels the first row has, and what to do."""
    (h, w), token = x.size, (cells[:k] - 1).unique().long()
    rows, columns = token // w, token % w
    pixels, how = f"of {h} × {w} positions", "Transpose first: (B, T, C)."
    if x.given:
        pixels, how = "pixels", PATCH_ORDER
    return (
        f"token 0 of {len(cells) // k} is no patch: it has {len(token)} "
        f"{pixels}, from rows {rows.min()} to {rows.max()} and columns "
        f"{columns.min()} to {columns.max()}. {how}"
    )


def image_text(x: Pixels) -> str:
    """Say which cell of a grid is where another should be, and what to do."""
    (h, w), right = x.size, numbered(x.cells.shape, x.size)
    wrong = (x.cells != right) & (x.cells > 0)
    _, _, row, column = at = tuple(wrong.nonzero()[0].tolist())
    r, c = divmod(int(x.cells[at]) - 1, w)
    how = "Are h and w, rows and columns, exchanged at one end?"
    return (
        f"row {row}, column {column} of the image comes from row {r}, column "
        f"{c} of a grid {h} × {w}. {how if x.exchanged else PATCH_ORDER}"
    )


def output_fault(subject: Subject, flow: PixelFlow) -> str:
    """Say which pixels of an image (B, C, H, W) come out elsewhere."""
    run = flow.data.calls.run
    output = select_output(subject.pick, run.result, subject.inputs[-1])
    pairs = zip(tensors(run.result), run.gives)
    found = [flow.at.get(mark.number) for x, mark in pairs if x is output]
    x = next(filter(None, found), None)
    if not x or x.cells.ndim != 4 or x.in_order:
        return ""
    sides, last = x.cells.shape[2:], x.cells.movedim(-1, 1)
    whole = sides in [image.shape[-2:] for image in flow.images]
    torn = x.torn and not x._replace(cells=last).in_order
    wrong = (whole and x.exchanged) or (torn and (whole or sides == x.size))
    return f"At the end, {image_text(x)}" if wrong else ""
