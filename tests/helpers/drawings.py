"""Numbers, labels and lines to draw, and the texts in a drawing."""

import math
from xml.etree import ElementTree

import torch

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
