"""Patches: pixels that are cut into tokens, and come back as an image."""

import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d, fold, unfold

from shapewatch.properties import provenance
from tformer_lite import MultiHeadAttention

DRAW = torch.Generator().manual_seed(0)
IMAGES = torch.randn(2, 3, 24, 8, generator=DRAW)
KERNEL = torch.randn(24, 3, 4, 4, generator=DRAW)


class Vision(nn.Module):
    """Images (B, 3, 24, 8) are cut into 12 tokens of a grid 6 × 2."""

    def __init__(self, cut, glue, positions):
        super().__init__()
        self.cut, self.glue, self.positions = cut, glue, positions
        self.read = nn.Linear(cut(IMAGES).shape[-1], 24)
        self.write = nn.Linear(24, 48)
        self.mix, self.see = MultiHeadAttention(24, 3), nn.Conv2d(24, 3, 2)

    def forward(self, x):
        x = self.read(self.cut(x)) + self.positions
        return self.glue(self, x + self.mix(x, x))


def split(x, *order):
    x = x.reshape(2, 3, 6, 4, 2, 4).permute(0, *order)
    return x.reshape(2, 12, 48)


def join(x, *order, h=6):
    x = x.reshape(2, h, -1, 4, 4, 3).permute(0, *order)
    return x.reshape(2, 3, 24, 8)


def table(h, w):
    return (torch.rand(h, 1, 24) + torch.rand(1, w, 24)).flatten(0, 1)


RIGHT_CUT = lambda x: split(x, 2, 4, 3, 5, 1)  # noqa: E731
RIGHT = {
    "split": (RIGHT_CUT, lambda m, x: join(m.write(x), 5, 1, 3, 2, 4)),
    "unfold": (
        lambda x: unfold(x, 4, stride=4).mT,
        lambda m, x: fold(m.write(x).mT, (24, 8), 4, stride=4),
    ),
    "convolved": (
        lambda x: conv2d(x, KERNEL, stride=4).flatten(2).mT,
        lambda m, x: m.see(x.mT.view(2, 24, 6, 2)),
    ),
    "columns": (lambda x: split(x, 4, 2, 3, 5, 1), lambda m, x: x),
}
WRONG_CUT = {
    "rows 0 to 5 and columns 0 to 7": lambda x: x.reshape(2, 12, 48),
    "36 pixels, from rows 0 to 4": lambda x: x.reshape(2, 16, 36),
    "rows 0 to 1 and columns 0 to 7": lambda x: split(x, 2, 3, 4, 5, 1),
    "12 of 6 × 2": lambda x: conv2d(x, KERNEL, stride=4).view(2, 12, 24),
}
WRONG_GLUE = {
    "At the end": lambda m, x: m.write(x).reshape(2, 3, 24, 8),
    "row 0, column 4": lambda m, x: join(m.write(x), 5, 2, 3, 1, 4, h=2),
    "In see": lambda m, x: m.see(x.view(2, 24, 6, 2)),
}


def broken(*model):
    finding = provenance(Vision(*model), IMAGES)
    assert finding.level == "broken"
    return finding.says


@pytest.mark.parametrize("way", RIGHT)
def test_patches_that_come_back_where_they_were_are_right(way):
    assert provenance(Vision(*RIGHT[way], table(6, 2)), IMAGES).holds


@pytest.mark.parametrize("says", WRONG_CUT)
def test_a_patch_is_no_strip_of_pixels(says):
    assert says in broken(WRONG_CUT[says], lambda m, x: x, 0)


@pytest.mark.parametrize("says", WRONG_GLUE)
def test_a_pixel_comes_back_where_it_was(says):
    assert says in broken(RIGHT_CUT, WRONG_GLUE[says], 0)


def test_a_grid_and_its_positions_have_the_same_rows():
    says = broken(*RIGHT["split"], table(2, 6))
    assert "a grid 6 × 2 get the positions of a grid 2 × 6" in says
