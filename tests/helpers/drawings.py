"""Numbers, labels and lines to draw; the texts in a drawing, and what is
wrong with how they stand."""

import math
from itertools import combinations
from xml.etree import ElementTree

import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.text import Text

from tformer_lite.drawing.page import NARROW, WIDE
from tformer_lite.drawing.picture import Picture

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
T = torch.arange(8)
WAVE, RAMP = torch.sin(T * 1.0), T / 7


def texts(svg: str) -> list[str]:
    """The texts in a drawing, read as an XML parser reads them."""
    root = ElementTree.fromstring(svg)
    return [
        node.text for node in root.iter("{http://www.w3.org/2000/svg}text")
    ]


def letter_faults(picture: Picture) -> list[str]:
    """What is wrong with the letters of a picture, wide and narrow: a text
    below 9 pixels, one that leaves the figure, two that overlap."""
    found = []
    for figure, widest in ((picture.figure, WIDE), (picture.narrow, NARROW)):
        canvas = FigureCanvasAgg(figure)
        figure.dpi = 72  # where a point is a CSS pixel
        wide, high = canvas.get_width_height()
        view = f"of {wide} px: "
        if wide > widest:
            found.append(f"{view}wider than {widest} px")
        written = [text for text in figure.findobj(Text) if seen(text)]
        boxes = [corners(text, canvas.get_renderer()) for text in written]
        words = [" ".join(text.get_text().split()) for text in written]
        for text, word, box in zip(written, words, boxes):
            if text.get_size() < 9:
                found.append(f"{view}{word!r} has {text.get_size()} px")
            if (box < -0.5).any() or (box > torch.tensor([wide, high])).any():
                found.append(f"{view}{word!r} leaves the figure")
        pairs = combinations(zip(words, boxes), 2)
        found += [
            f"{view}{one!r} overlaps {other!r}"
            for (one, a), (other, b) in pairs
            if overlap(a, b)
        ]
    return found


def seen(text: Text) -> bool:
    """Whether a text is drawn: neither it nor its axis is hidden."""
    axes = text.axes
    off = axes is not None and not (axes.axison and axes.get_visible())
    ticks = axes._axis_map.values() if off else ()
    hidden = any(text in axis.findobj(Text) for axis in ticks)
    return bool(text.get_text().strip()) and text.get_visible() and not hidden


def corners(text: Text, renderer: RendererAgg) -> torch.Tensor:
    """The corners of a text's box, turned as it is: (4, 2), in pixels."""
    text.set_bbox({"boxstyle": "square, pad=0"})
    text.update_bbox_position_size(renderer)
    patch = text.get_bbox_patch()
    text.set_bbox(None)
    places = patch.get_transform().transform(patch.get_path().vertices[:4])
    return torch.tensor(places)


def overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two boxes have more than a pixel in common: no line parts
    them that is level with an edge of either."""
    edges = torch.cat((one.diff(dim=0)[:2], other.diff(dim=0)[:2]))
    lines = edges / edges.norm(dim=1, keepdim=True)
    a, b = one @ lines.T, other @ lines.T
    gaps = torch.maximum(a.amin(0) - b.amax(0), b.amin(0) - a.amax(0))
    return bool((gaps < -1).all())
