"""Numbers, labels and lines to draw; the texts in a drawing, and what is
wrong with how they stand."""

import math
from xml.etree import ElementTree

import matplotlib as mpl
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from tformer_lite.drawing.surface.picture import Picture

ENGLISH = ["[SOS]", "mouth", "is", "."]
NEPALI = ["[SOS]", "मुख", "थिएन", "।"]
SCORES = torch.tensor(
    [
        [0.101, -1.005, 2.0, -math.inf],
        [0.004, -0.004, 1.239, -math.inf],
        [3.0, -3.456, 0.5, -math.inf],
        [-0.25, 0.75, 1.0, -math.inf],
    ]
)
PHONE = 358  # how wide a column of text is on a phone
T = torch.arange(8)
WAVE, RAMP = torch.sin(T * 1.0), T / 7


def texts(svg: str) -> list[str]:
    """The texts in a drawing, read as an XML parser reads them."""
    root = ElementTree.fromstring(svg)
    return [
        node.text for node in root.iter("{http://www.w3.org/2000/svg}text")
    ]


@mpl.rc_context({"text.hinting": "no_hinting"})  # as browsers do it
def letter_faults(picture: Picture) -> list[str]:
    """What is wrong with the letters of a picture's panels: one is wider than
    a phone's column; a text is below 11 pixels, or leaves the panel; two
    overlap."""
    found = []
    for figure in picture.figures:
        figure.dpi = 72  # where a point is a CSS pixel
        canvas = FigureCanvasAgg(figure)
        canvas.draw()  # what is laid out takes its place
        wide, high = canvas.get_width_height()
        view, ends = f"of {wide} px: ", torch.tensor([wide, high]) + 0.5
        if wide > PHONE:
            found.append(f"{view}wider than {PHONE} px")
        written = texts_on(figure)
        boxes = [corners(text, canvas.get_renderer()) for text in written]
        words = [" ".join(text.get_text().split()) for text in written]
        for text, word, box in zip(written, words, boxes):
            if text.get_size() < 11:
                found.append(f"{view}{word!r} has {text.get_size()} px")
            if box.min() < -0.5 or (box > ends).any():
                found.append(f"{view}{word!r} leaves the figure")
        found += [
            f"{view}{words[i]!r} overlaps {words[j]!r}"
            for i, j in close_by(boxes)
            if overlap(boxes[i], boxes[j])
        ]
    return found


def texts_on(figure: Figure) -> list[Text]:
    """The texts of a figure that are drawn: those of ticks within view, on
    axes that are shown."""
    hidden = set()
    for axes in figure.axes:
        for axis in axes.xaxis, axes.yaxis:
            ticks = axis._update_ticks() if axes.axison else []
            shown = {axis.label, *(tick.label1 for tick in ticks)}
            hidden |= set(axis.findobj(Text)) - shown
    drawn = [text for text in figure.findobj(Text) if text not in hidden]
    return [x for x in drawn if x.get_visible() and x.get_text().strip()]


def corners(text: Text, renderer: RendererAgg) -> torch.Tensor:
    """The corners of a text's box, turned as it is: (4, 2), in pixels."""
    text.set_bbox({"boxstyle": "square, pad=0"})
    text.update_bbox_position_size(renderer)
    patch = text.get_bbox_patch()
    text.set_bbox(None)
    places = patch.get_transform().transform(patch.get_path().vertices[:4])
    return torch.tensor(places)


def close_by(boxes: list[torch.Tensor]) -> list[list[int]]:
    """The pairs of boxes that would overlap if none were turned."""
    all_of = torch.stack([torch.zeros(4, 2).double(), *boxes])[1:]
    low, high = all_of.amin(1), all_of.amax(1)
    meet = (low[:, None] < high).all(-1)
    return (meet & meet.T).triu(1).nonzero().tolist()


def overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two boxes have more than half a pixel in common: no line parts
    them that is level with an edge of either."""
    edges = torch.cat((one.diff(dim=0)[:2], other.diff(dim=0)[:2]))
    lines = edges / edges.norm(dim=1, keepdim=True)
    a, b = one @ lines.T, other @ lines.T
    gaps = torch.maximum(a.amin(0) - b.amax(0), b.amin(0) - a.amax(0))
    return bool((gaps < -0.5).all())
