"""What bars beside words say and show."""

import pytest
import torch
from matplotlib.patches import Rectangle

from tests.helpers.drawings import texts
from tformer_lite import bars
from tformer_lite.drawing.surface.palette import CENTRED

WORDS, ENGLISH = ["दुःखी", "व्यस्त", "खाटमा"], ["sad", "busy", "in bed"]
COLD, HOT = torch.tensor([0.75, 0.25, 0.0]), torch.tensor([0.5, 0.25, 0.25])


def lengths(figure) -> list[float]:
    """How long the bars of a figure are, in pixels, from left to right."""
    drawn = [x for x in figure.axes[0].patches if isinstance(x, Rectangle)]
    return [x.get_width() for x in drawn if x.get_height() == 14]


def test_bars_of_all_panels_have_one_scale_on_a_page_and_on_a_phone():
    picture = bars(COLD, HOT, labels=WORDS)
    for figure in (picture.figure, picture.narrow):
        drawn = torch.tensor(lengths(figure))
        shares = drawn / drawn.max() * 0.75
        torch.testing.assert_close(shares, torch.cat((COLD, HOT)))
        assert drawn.max() >= 40


def test_each_bar_has_its_word_its_gloss_and_its_number():
    titles = ["cold\ntemperature 0.5", "hot"]
    picture = bars(COLD, HOT, labels=WORDS, glosses=ENGLISH, titles=titles)
    drawn = texts(picture.svg())
    for text in ("cold", "temperature 0.5", "hot", *WORDS, *ENGLISH, "0.75"):
        assert text in drawn
    first, numbers = picture.text.split("\n\n")
    assert first == (
        "cold, temperature 0.5 (3,), hot (3,): 3 bars. cold is largest for "
        "दुःखी, sad (0.75). hot is largest for दुःखी, sad (0.50)."
    )
    assert numbers.splitlines()[3].split() == ["व्यस्त", "busy", *["0.25"] * 2]


def test_bars_below_zero_go_the_other_way_in_the_other_colour():
    values = torch.tensor([3.0, -1.0])
    picture = bars(values, labels=["up", "down"], titles=["slopes"])
    up, down = (
        x for x in picture.figure.axes[0].patches if x.get_height() == 14
    )
    assert up.get_x() == pytest.approx(down.get_x() + down.get_width())
    assert up.get_width() == pytest.approx(3 * down.get_width())
    assert up.get_facecolor() != down.get_facecolor()
    assert "−1.00" in texts(picture.svg())
    assert CENTRED.dark[2] in picture.svg()


def test_whole_numbers_have_their_thousands_apart():
    picture = bars(torch.tensor([44_312_696, 0]), labels=["all", "none"])
    assert {"44,312,696", "0"} <= set(texts(picture.svg()))


def test_what_cannot_be_drawn_as_bars_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match=r"\(3, 3\).*choose one"):
        bars(torch.eye(3), labels=WORDS)
    with pytest.raises(ValueError, match="2 labels for an axis of size 3"):
        bars(COLD, labels=WORDS[:2])
    with pytest.raises(ValueError, match="1 labels for an axis of size 3"):
        bars(COLD, labels=WORDS, glosses=ENGLISH[:1])
    with pytest.raises(ValueError, match="COLD is not finite"):
        bars(COLD.log(), labels=WORDS, titles=["COLD"])
    with pytest.raises(ValueError, match="HOT.* 2 numbers.* vector 3"):
        bars(COLD, HOT[:2], labels=WORDS, titles=["COLD", "HOT"])
    with pytest.raises(ValueError, match="0 vectors"):
        bars(labels=[])
