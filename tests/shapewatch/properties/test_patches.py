"""Patches: pixels that are cut into tokens, and come back as an image."""

import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d, fold, unfold

from shapewatch.properties import provenance
from tformer_lite import MultiHeadAttention

IMAGES, KERNEL = torch.randn(2, 3, 24, 8), torch.randn(24, 3, 4, 4)


class Vision(nn.Module):
    """Images (B, 3, 24, 8) are cut into 12 tokens of a grid 6 × 2."""

    def __init__(self, cut, glue):
        super().__init__()
        self.cut, self.glue = cut, glue
        self.read = nn.Linear(cut(IMAGES).shape[-1], 24)
        self.write = nn.Linear(24, 48)
        self.mix, self.see = MultiHeadAttention(24, 3), nn.Conv2d(24, 3, 2)

    def forward(self, x):
        x = self.read(self.cut(x))
        return self.glue(self, x + self.mix(x, x))


def split(x, *order):
    return x.view(2, 3, 6, 4, 2, 4).permute(0, *order).reshape(2, 12, 48)


def join(x, *order, h=6):
    x = x.reshape(2, h, -1, 4, 4, 3).permute(0, *order)
    return x.reshape(2, 3, 24, 8)


CUT, KEEP = lambda x: split(x, 2, 4, 3, 5, 1), lambda m, x: x
COLUMNS = lambda x: split(x, 4, 2, 3, 5, 1)  # noqa: E731
RIGHT = [
    (CUT, lambda m, x: join(m.write(x), 5, 1, 3, 2, 4)),
    (CUT, lambda m, x: fold(m.write(x).mT, (24, 8), 4, stride=4)),
    (lambda x: unfold(x, 4, stride=4).mT, KEEP),
    (lambda x: conv2d(x, KERNEL, stride=4).flatten(2).mT, KEEP),
    (CUT, lambda m, x: m.see(x.mT.view(2, 24, 6, 2))),
    (COLUMNS, KEEP),
    (lambda x: torch.cat((x, x), 1).reshape(2, 3, 384), KEEP),  # channels
    (lambda x: conv2d(x, KERNEL[:12], stride=4).flatten(2), KEEP),
    (lambda x: x[:, :1].reshape(2, 3, 64), KEEP),  # whole lines
]
WRONG = {
    "rows 0 to 5 and columns 0 to 7": (lambda x: x.view(2, 12, 48), KEEP),
    "6 × 2": (lambda x: conv2d(x, KERNEL, stride=4).view(2, 12, 24), KEEP),
    "At the end": (CUT, lambda m, x: m.write(x).view(2, 3, 24, 8)),
    "Are h and w": (COLUMNS, RIGHT[0][1]),
    "exchanged": (CUT, lambda m, x: join(m.write(x), 5, 2, 3, 1, 4, h=2)),
    "In see": (CUT, lambda m, x: m.see(x.view(2, 24, 6, 2))),
}


@pytest.mark.parametrize("way", RIGHT)
def test_patches_that_come_back_where_they_were_are_right(way):
    assert provenance(Vision(*way), IMAGES).holds


@pytest.mark.parametrize("says", WRONG)
def test_a_view_makes_no_patches_and_no_image(says):
    finding = provenance(Vision(*WRONG[says]), IMAGES)
    assert finding.level == "broken"
    assert says in finding.says
