"""What a page draws, measured in its pixels."""

import gzip
import re

import pytest
import torch

from tests.helpers.drawings import SCORES
from tformer_lite.drawing.surface.page import Page
from tformer_lite.drawing.surface.palette import DARK, EDGE, HATCH, KINDS
from tformer_lite.drawing.surface.picture import Picture


def cells(values, hidden=None) -> str:
    """The SVG of a matrix of scores alone, from −2 to 2."""
    page, kind = Page(200, 100), KINDS["scores"]
    page.cells((20, 10, 120, 80), values, kind, (-2, 2), hidden)
    return Picture(page.figure, "", DARK | kind.counterparts()).svg()


@pytest.mark.slow
def test_cells_stand_in_the_pixels_of_their_box_and_hidden_ones_are_hatched():
    svg = cells(SCORES)
    edged = rf'd="(M[^"]*)" style="[^"]*{EDGE[0]}'
    drawn = re.findall(edged, svg)
    assert len(drawn) == SCORES.numel()
    assert drawn[0] == "M20 10h30v20h-30z"
    assert svg.count("url(#") == 1  # one path hatches all
    assert "light-dark(#84b8e6, #1e66a8)" in svg  # −3.46: beyond the limit
    none, all_ = (torch.full((4, 4), hides) for hides in (False, True))
    assert HATCH[0] not in cells(SCORES[:, :3], none[:, :3])
    assert "#84b8e6" not in cells(SCORES, all_)


def test_cells_take_few_bytes():
    svg = cells(torch.randn(8, 8, generator=torch.manual_seed(0)))
    assert len(gzip.compress(svg.encode())) < 1400
