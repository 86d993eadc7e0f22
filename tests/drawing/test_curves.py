"""What a drawing of lines says and shows, in each of its faces."""

import itertools
import re
from xml.etree import ElementTree

import pytest
import torch

from tests.helpers.colours import contrast, rgb
from tests.helpers.drawings import RAMP, WAVE, T, texts
from tformer_lite import curves
from tformer_lite.drawing.plots.line_page import apart, scale_of
from tformer_lite.drawing.surface.palette import INK, LINES, PAPER

PANELS = ("#f6f8fa", "#1b2128")  # what outputs may stand on, a little off


def paths(svg: str) -> list[list[tuple[float, float]]]:
    """The points of each data line: strokes of a line's colour, unfilled."""
    lines = [pair[0] for pair, *_ in LINES]
    found = []
    for node in ElementTree.fromstring(svg).iter():
        style = node.get("style", "")
        stroke = re.search(r"stroke: (#\w+)", style)
        points = re.findall(r"[ML] (\S+) (\S+)", node.get("d", ""))
        wide = "stroke-width: 1.5" in style
        if wide and stroke and stroke[1] in lines:
            found.append([(float(x), float(y)) for x, y in points])
    return found


def test_a_line_goes_through_its_values():
    drawn = paths(curves(RAMP).svg())
    assert len(drawn) == 2  # on a page and on a phone
    assert len(drawn[0]) == 8
    steps = torch.tensor(drawn[0]).diff(dim=0)
    assert (steps - steps[0]).abs().max() < 0.3
    assert steps[0, 0] > 0 > steps[0, 1]  # SVG counts downwards


def test_the_description_names_vectors_shape_axis_and_extremes():
    waves = torch.stack((WAVE, RAMP), dim=-1)
    text = curves(waves[:, 0], RAMP).text
    first, numbers = text.split("\n\n")
    assert first == (
        "waves[:, 0], RAMP (8,): 2 lines over T (query position), 0 to "
        "7. waves[:, 0] runs from 0.00 to 0.66, is lowest at 5 (-0.96) and "
        "highest at 2 (0.91). RAMP runs from 0.00 to 1.00, is lowest at 0 "
        "(0.00) and highest at 7 (1.00)."
    )
    assert numbers.splitlines()[4].split() == ["2", "0.91", "0.29"]
    assert len(numbers.splitlines()) == 2 + 8


def test_the_numbers_are_those_of_the_vectors():
    table = curves(WAVE, RAMP).text.split("\n\n")[1].splitlines()[2:]
    for row, place, wave, ramp in zip(table, T, WAVE, RAMP, strict=True):
        shown = [float(x) for x in row.split()]
        values = [place.item(), wave.item(), ramp.item()]
        assert shown == pytest.approx(values, abs=0.005001)


def test_long_vectors_show_some_of_their_numbers_and_the_place_of_each():
    square = torch.arange(100.0) ** 2
    table = curves(square).text.split("\n\n")[1].splitlines()[2:]
    assert 8 <= len(table) <= 16
    for row in table:
        place, value = map(float, row.split())
        assert value == place**2


@pytest.mark.slow
def test_names_stand_in_the_drawing_as_text_and_titles_replace_them():
    drawn = texts(curves(WAVE * 2, RAMP, axis="S").svg())
    assert {"WAVE * 2", "RAMP", "S: key position"} <= set(drawn)
    drawn = texts(curves(WAVE, RAMP, titles=["sine", "rise"]).svg())
    assert {"sine", "rise"} <= set(drawn)
    assert repr(curves(*[WAVE, RAMP])).startswith("row 0, row 1 (8,): 2")


def test_an_axis_can_be_named_by_a_plain_word():
    picture = curves(RAMP, axis="block", places=range(1, 9))
    assert "block" in texts(picture.svg())
    assert "1 line over block, 1 to 8." in picture.text


def test_a_line_over_steps_stands_at_the_steps_that_it_is_given():
    picture = curves(1 - RAMP, axis="step", places=range(50, 450, 50))
    first, numbers = picture.text.split("\n\n")
    assert "1 line over step (batches learned from), 50 to 400." in first
    assert "lowest at 400 (0.00) and highest at 50 (1.00)" in first
    steps = [row.split()[0] for row in numbers.splitlines()[2:]]
    assert steps == [str(step) for step in range(50, 450, 50)]
    drawn = texts(picture.svg())
    assert {"step: batches learned from", "100", "400"} <= set(drawn)


@pytest.mark.slow
def test_each_list_is_a_panel_and_one_name_has_one_look():
    panels = [[WAVE, RAMP], [RAMP + 1]]
    names, heads = ["a", "b", "b"], ["waves\nof two", "ramp"]
    look = {"titles": names, "heads": heads, "log": [False, True]}
    picture = curves(*panels, **look)
    for figure in (picture.figure, picture.narrow):
        _, left, right = figure.axes
        assert (left.get_yscale(), right.get_yscale()) == ("linear", "log")
        styles = [
            (line.get_color(), line.get_linestyle(), line.get_marker())
            for line in (*left.lines, *right.lines)
        ]
        assert styles[1] == styles[2] != styles[0]
    drawn = texts(picture.svg())
    assert {"waves", "of two", "ramp", "log scale"} <= set(drawn)
    assert "waves, of two: a, b (8,): 2 lines over T" in picture.text
    assert "ramp: b (8,): 1 line over T (query position), 0 to 7, log " in (
        picture.text
    )
    boxes = [axes.get_position() for axes in picture.figure.axes[1:]]
    assert boxes[0].x1 < boxes[1].x0
    boxes = [axes.get_position() for axes in picture.narrow.axes[1:]]
    assert boxes[0].y0 > boxes[1].y1
    assert curves([WAVE, RAMP], [RAMP + 1]).text.startswith("WAVE, RAMP (8,)")
    assert curves(*panels).text.startswith("row 0, row 1 (8,)")


def test_of_several_seeds_each_is_a_dot_and_the_line_is_their_mean():
    values = torch.stack((RAMP, RAMP + 1, RAMP + 5))
    picture = curves(values, seeds=True, titles=["ramps"])
    assert "each the mean of 3 seeds. ramps runs from 2.00 to 3.00" in (
        picture.text
    )
    (line,) = picture.figure.axes[1].lines
    torch.testing.assert_close(
        torch.tensor(line.get_ydata()), (RAMP + 2).double()
    )
    dots = [
        x.get_offsets()[:, 1].tolist()
        for x in picture.figure.axes[1].collections[1:]
    ]
    assert torch.tensor(dots).allclose(values)


def test_scales_name_round_numbers():
    values = torch.tensor([0.0, 6.6]).double()
    assert scale_of(values, 5, False, 0.04).texts() == ["0", "2", "4", "6"]
    assert scale_of(values / 10, 5, False, 0).texts() == [
        "0.0",
        "0.2",
        "0.4",
        "0.6",
    ]
    small = torch.tensor([1e-8, 2e6]).double()
    written = scale_of(small, 5, True, 0).texts()
    assert {"10⁻⁸", "1"} <= {*written, *scale_of(small, 20, True, 0).texts()}
    assert scale_of(values + 0.7, 5, True, 0).texts() == ["1", "2", "5"]


def look(svg: str, colour: str) -> tuple[str, str]:
    """How a line of a drawing is dashed, and the outline of its marker."""
    own = [x for x in svg.splitlines() if f"stroke: {colour}" in x]
    line = next(x for x in own if "stroke-width: 1.5" in x)
    dash = re.search("stroke-dasharray: ([^;]*)", line)
    marker = next(
        re.search(' d="([^"]*)', x)[1]
        for x in own
        if "<use" not in x and 'z "' in x
    )
    return dash[1] if dash else "none", marker


def test_lines_differ_in_dash_and_in_marker_as_well_as_in_colour():
    svg = curves(*[RAMP + i for i in range(len(LINES))]).svg()
    colours = [pair[0] for pair, *_ in LINES]
    for looks in (colours, *zip(*(look(svg, c) for c in colours))):
        assert len(set(looks)) == len(LINES) == 5


@pytest.mark.parametrize("theme", [0, 1])
def test_lines_and_their_names_can_be_seen_on_page_and_panel(theme):
    for pair, *_ in LINES:
        for ground in (PAPER[theme], PANELS[theme]):
            assert contrast(rgb(pair[theme]), rgb(ground)) >= 4.5


def test_every_colour_has_its_dark_counterpart():
    svg = curves(*[RAMP + i for i in range(len(LINES))]).svg()
    light = set(re.findall(r"(?:fill|stroke): (#\w{6})", svg))
    pairs = dict(re.findall(r"light-dark\((#\w+), (#\w+)\)", svg))
    assert light == set(pairs)
    assert all(pairs[colour] != colour for colour in light)
    assert pairs[INK[0]] == INK[1]


def places(svg: str, names: list[str]) -> list[float]:
    """How far down each name is written."""
    found = {}
    for node in ElementTree.fromstring(svg).iter():
        if (node.text or "") in names and node.get("transform"):
            found[node.text] = float(node.get("transform").split()[1][:-1])
        elif (node.text or "") in names and node.get("y"):
            found[node.text] = float(node.get("y"))
    return [found[name] for name in names]


def test_names_of_lines_that_end_together_do_not_overlap():
    names = list("abcde")
    svg = curves(*[WAVE + i / 99 for i in range(5)], titles=names).svg()
    heights = places(svg, names)
    assert heights == sorted(heights, reverse=True)  # a ends lowest
    for low, high in itertools.pairwise(heights):
        assert low - high >= 11  # points: one line of words


def test_heights_are_moved_no_more_than_is_needed():
    assert apart([0.0, 5.0], 1, 9) == [0, 5]
    assert apart([5.0, 0.0, 5.0], 1, 9) == [5, 0, 6]
    assert apart([9.0, 9.0], 1, 9) == [8, 9]


@pytest.mark.slow
def test_the_same_lines_are_the_same_bytes():
    assert curves(WAVE).svg() == curves(WAVE).svg()
    assert curves(WAVE).png() == curves(WAVE).png()
