"""What bars, dots and lines say and show; what they and heatmaps refuse."""

import itertools
import math

import pytest
import torch
from matplotlib.text import Text

from tests.helpers.drawings import RAMP, SCORES, WAVE, T, texts
from tformer_lite import bars, curves, heatmap, seeds
from tformer_lite.drawing.plots.charts import apart, tick_text

WORDS, ENGLISH = ["दुःखी", "व्यस्त", "खाटमा"], ["sad", "busy", "in bed"]
COLD, HOT = torch.tensor([0.75, 0.25, 0.0]), torch.tensor([0.5, 0.25, 0.25])
FEW, MANY = torch.tensor([95.0, 98.4]), torch.tensor([96.0, 97.0, 97.0, 97.0])


def test_bars_of_all_panels_have_one_scale():
    picture = bars(*[COLD, HOT] * 3, labels=WORDS)
    assert len(picture.figures) > 1
    scales = set()
    for figure in picture.figures:
        figure.draw_without_rendering()
        for ax in figure.axes:
            scales.add((round(ax.bbox.width), *ax.get_xlim()))
            assert [bar.get_width() for bar in ax.patches[:3]] in (
                COLD.tolist(),
                HOT.tolist(),
            )
    assert len(scales) == 1
    own = bars(COLD, 9 * HOT, labels=WORDS, one_scale=False).figures[0].axes
    assert own[1].get_xlim()[1] == pytest.approx(6 * own[0].get_xlim()[1])


def test_each_bar_has_its_word_its_gloss_and_its_number():
    titles = ["cold\ntemperature 0.5", "hot"]
    picture = bars(COLD, HOT, labels=WORDS, glosses=ENGLISH, titles=titles)
    shown = {"cold", "temperature 0.5", "hot", *WORDS, *ENGLISH, "0.75"}
    assert shown <= {*texts(picture.svg())}
    first, numbers = picture.text.split("\n\n")
    assert first == (
        "cold, temperature 0.5 (3,), hot (3,): 3 bars. cold is largest for "
        "दुःखी, sad (0.75). hot is largest for दुःखी, sad (0.50)."
    )
    assert numbers.splitlines()[3].split() == ["व्यस्त", "busy", *["0.25"] * 2]


def test_bars_below_zero_go_the_other_way_in_the_other_colour():
    picture = bars(torch.tensor([3.0, -1.0]), labels=["up", "down"])
    up, down = picture.figures[0].axes[0].patches
    assert (up.get_width(), down.get_width()) == (3, -1)
    assert up.get_facecolor() != down.get_facecolor()
    assert "−1.00" in texts(picture.svg())
    large = bars(torch.tensor([44_312_696, 0]), labels=["all", "none"])
    assert {"44,312,696", "0"} <= set(texts(large.svg()))


def test_each_seed_is_a_dot_and_no_dot_hides_another():
    (ax,) = seeds(FEW, MANY, axis="exact match, %").figures[0].axes
    ax.figure.draw_without_rendering()
    dots = [x.get_offsets() for x in ax.collections if len(x.get_offsets())]
    places = [place for each in dots for place in each.tolist() if place[0]]
    assert sorted(x for x, _ in places) == pytest.approx(
        [95, 96, 97, 97, 97, 98.4]
    )
    pixels = ax.transData.transform(places) * 72 / ax.figure.dpi
    for one, other in itertools.combinations(pixels, 2):
        assert math.dist(one, other) > 5


@pytest.mark.slow
def test_rows_of_seeds_are_named_and_means_are_written():
    picture = seeds(FEW, MANY, axis="exact match, %", titles=["wsd", "noam"])
    drawn = texts(picture.svg())
    assert {"wsd", "noam", "96.70", "96.75", "exact match, %"} <= set(drawn)
    first, numbers = picture.text.split("\n\n")
    assert first == (
        "exact match, %: wsd (2,): mean 96.70, from 95.00 to 98.40. "
        "noam (4,): mean 96.75, from 96.00 to 97.00."
    )
    assert numbers.splitlines()[1].split() == ["wsd", "95.00", "98.40"]
    assert repr(seeds(FEW, axis="loss")).startswith("loss: FEW (2,): mean")
    kinds = seeds(FEW, MANY, FEW, axis="x", titles=["a, 1", "a, 2", "b, 1"])
    names = kinds.figures[0].axes[0].get_yticklabels()
    one, other, last = (name.get_color() for name in names)
    assert one == other != last


def test_a_line_goes_through_its_values_and_so_do_its_words_and_numbers():
    waves = torch.stack((WAVE, RAMP), dim=-1)
    picture = curves(waves[:, 0], RAMP)
    (ax,) = picture.figures[0].axes
    for line, values in zip(ax.lines, (WAVE, RAMP), strict=True):
        assert list(line.get_xdata()) == T.tolist()
        assert list(line.get_ydata()) == values.double().tolist()
    first, numbers = picture.text.split("\n\n")
    assert first == (
        "waves[:, 0], RAMP (8,): 2 lines over T (target position), 0 to "
        "7. waves[:, 0] runs from 0.00 to 0.66, is lowest at 5 (-0.96) and "
        "highest at 2 (0.91). RAMP runs from 0.00 to 1.00, is lowest at 0 "
        "(0.00) and highest at 7 (1.00)."
    )
    assert numbers.splitlines()[4].split() == ["2", "0.91", "0.29"]
    assert len(numbers.splitlines()) == 2 + 8
    drawn = texts(curves(WAVE * 2, RAMP, axis="S").svg())
    assert {"WAVE * 2", "RAMP", "S: source position"} <= set(drawn)
    assert repr(curves(*[WAVE, RAMP])).startswith("row 0, row 1 (8,): 2")


def test_long_vectors_show_some_of_their_numbers_and_the_place_of_each():
    square = torch.arange(100.0) ** 2
    table = curves(square).text.split("\n\n")[1].splitlines()[2:]
    assert 8 <= len(table) <= 16
    for row in table:
        place, value = map(float, row.split())
        assert value == place**2


def test_a_line_over_steps_stands_at_the_steps_that_it_is_given():
    picture = curves(1 - RAMP, axis="step", places=range(50, 450, 50))
    first, numbers = picture.text.split("\n\n")
    assert "1 line over step (batches learned from), 50 to 400." in first
    assert "lowest at 400 (0.00) and highest at 50 (1.00)" in first
    steps = [row.split()[0] for row in numbers.splitlines()[2:]]
    assert steps == [str(step) for step in range(50, 450, 50)]
    drawn = texts(picture.svg())
    assert {"step: batches learned from", "100", "400"} <= set(drawn)
    assert "1 line over block, " in curves(RAMP, axis="block").text


@pytest.mark.slow
def test_each_list_is_a_panel_and_one_name_has_one_look():
    names, heads = ["a", "b", "b"], ["waves\nof two", "ramp"]
    look = {"titles": names, "heads": heads, "log": [False, True]}
    picture = curves([WAVE, RAMP], [RAMP + 1], **look)
    left, right = (figure.axes[0] for figure in picture.figures)
    assert (left.get_yscale(), right.get_yscale()) == ("linear", "log")
    a, b, again = (
        (line.get_color(), line.get_linestyle(), line.get_marker())
        for line in (*left.lines, *right.lines)
    )
    assert a != b == again
    assert {"waves", "of two", "ramp", "log scale"} <= {*texts(picture.svg())}
    assert "waves, of two: a, b (8,): 2 lines over T" in picture.text
    assert "ramp: b (8,): 1 line over T (target position), 0 to 7, log " in (
        picture.text
    )
    assert curves([WAVE, RAMP], [RAMP + 1]).text.startswith("WAVE, RAMP (8,)")


def test_of_several_seeds_each_is_a_dot_and_the_line_is_their_mean():
    values = torch.stack((RAMP, RAMP + 1, RAMP + 5))
    picture = curves(values, seeds=True, titles=["ramps"])
    assert "each the mean of 3 seeds. ramps runs from 2.00 to 3.00" in (
        picture.text
    )
    (ax,) = picture.figures[0].axes
    torch.testing.assert_close(
        torch.tensor(ax.lines[0].get_ydata()), (RAMP + 2).double()
    )
    dots = [x.get_offsets()[:, 1].tolist() for x in ax.collections]
    assert torch.tensor(dots).allclose(values)


def test_scales_name_round_numbers():
    for values, log, wanted in [
        ([-0.5, 0.5], False, {"−0.5", "0", "0.5"}),
        ([0.7, 7.3], True, {"1", "2", "5"}),
        ([1e-7, 1e-2], True, {"10⁻⁶", "0.01"}),
    ]:
        assert wanted <= {*texts(curves(torch.tensor(values), log=log).svg())}
    assert [tick_text(x) for x in (3e-5, 1234.5)] == ["3·10⁻⁵", "1,234.5"]


def test_lines_differ_in_looks_and_names_that_end_together_stand_apart():
    names = list("abcde")
    picture = curves(*[WAVE + i / 99 for i in range(5)], titles=names)
    for look in ("get_color", "get_linestyle", "get_marker"):
        lines = picture.figures[0].axes[0].lines
        looks = {str(getattr(line, look)()) for line in lines}
        assert len(looks) >= 4 + (look != "get_linestyle")
    written = {x.get_text(): x for x in picture.figures[0].axes[0].texts}
    picture.figures[0].draw_without_rendering()
    boxes = [Text.get_window_extent(written[name]) for name in names]
    for low, high in itertools.pairwise(boxes):  # a ends lowest
        assert high.y0 >= low.y1
    assert apart([9.0, 9.0], 1, 9) == [8, 9]


@pytest.mark.slow
def test_lists_flat_lines_and_single_points_are_drawn_too():
    assert "3.00" in curves(torch.tensor([1, 2, 3])).text
    assert curves([1.0, 2.0], [2.0, 1.0]).svg()
    assert curves(torch.ones(8), torch.ones(8)).svg()
    assert curves(torch.ones(1), titles=[""]).svg()
    assert curves(WAVE.clone().requires_grad_()).svg()
    assert seeds(torch.ones(3), axis="loss").svg()
    assert bars(torch.zeros(3), labels=WORDS).svg()


@pytest.mark.parametrize(
    ("draw", "rows", "options", "error"),
    [
        (bars, [torch.eye(3)], {"labels": WORDS}, r"\(3, 3\).*choose one"),
        (bars, [COLD, HOT[:2]], {"labels": WORDS}, "2 numbers.* vector 3"),
        (seeds, [FEW / 0], {"axis": "x"}, "is not finite"),
        (curves, [WAVE], {"axis": "Q"}, "'Q': known are B, T"),
        (curves, [WAVE] * 6, {"titles": "abcdef"}, "6 vectors.*draw 1 to 5"),
        (curves, [WAVE], {"log": True}, "has -0.96, and a logarithmic"),
        (curves, [WAVE], {"places": range(7)}, "7 places, 8 numbers"),
        (heatmap, [torch.zeros(3, 8, 8)], {}, r"\(3, 8, 8\).*choose one"),
        (heatmap, [SCORES], {"rows": WORDS}, "3 labels for an axis of size 4"),
        (heatmap, [SCORES], {"kind": "logits"}, "'logits': known are scores"),
        (heatmap, [SCORES], {"mask": SCORES[:, 1:] > 0}, "axis 1"),
        (heatmap, [SCORES] * 2, {"titles": ["x"]}, "2 matrices, 1 titles"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_way_out(
    draw, rows, options, error
):
    with pytest.raises(ValueError, match=error):
        draw(*rows, **options)
