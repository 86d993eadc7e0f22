"""What a heatmap says and shows, in each of its faces."""

import base64
import io
import math
import re
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

from tformer_lite import heatmap, picture
from tformer_lite.palette import AXES, EDGE, INK, KINDS, PAPER
from tformer_lite.plot import FONT

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


def texts(svg: str) -> list[str]:
    """The texts in a drawing, read as an XML parser reads them."""
    root = ElementTree.fromstring(svg)
    return [
        node.text for node in root.iter("{http://www.w3.org/2000/svg}text")
    ]


def test_every_number_and_label_stands_in_the_drawing_as_text():
    svg = heatmap(SCORES, rows=NEPALI, columns=ENGLISH).svg()
    drawn = texts(svg)
    for label in NEPALI + ENGLISH:
        assert label in drawn
    for row in SCORES.tolist():
        for value in row:
            number = "-∞" if value == -math.inf else f"{value:.2f}"
            number = "0.00" if number == "-0.00" else number
            assert number.replace("-", "−") in drawn
    assert drawn.count("−∞") == 4


def test_the_description_names_tensor_index_shape_and_largest_cell():
    weights = torch.zeros(2, 3, 4, 4)
    weights[0, 1, 2] = torch.tensor([0.1, 0.2, 0.7, 0.0])
    text = repr(heatmap(weights[0, 1], rows=NEPALI, columns=ENGLISH))
    first, table = text.split("\n\n")
    assert first == (
        "weights[0, 1] (4, 4): rows T (position that asks), columns S "
        "(position that answers). Largest: 0.70 in row 2 (थिएन), column 2 "
        "(is)."
    )
    assert table.splitlines()[0] == "weights[0, 1]"
    assert table.splitlines()[4].split() == [
        "थिएन", "0.10", "0.20", "0.70", "0.00",
    ]  # fmt: skip


def test_a_screen_reader_says_the_first_paragraph():
    drawing = heatmap(
        SCORES, rows=NEPALI, columns=['"quoted"', "<b>", "&", "'"]
    )
    root = ElementTree.fromstring(drawing.svg())
    assert root.get("role") == "img"
    assert root.get("aria-label") == drawing.text.split("\n\n")[0]


def test_masked_cells_are_hatched_and_counted():
    plain, masked = heatmap(SCORES[:, :3]), heatmap(SCORES)
    assert "pattern" not in plain.svg()
    assert masked.svg().count("url(#h") == 4
    assert "4 of 16 cells are masked" in masked.text
    weights = SCORES.softmax(-1)
    hidden = heatmap(weights, mask=torch.tensor([[True, True, False, False]]))
    assert hidden.svg().count("url(#h") == 8
    assert "8 of 16 cells are masked" in hidden.text


def test_a_masked_cell_is_never_called_the_largest():
    scores = torch.tensor([[9.0, 1.0]])
    text = heatmap(scores, mask=torch.tensor([[False, True]])).text
    assert "Largest: 1.00 in row 0 (0), column 1 (1)" in text


@pytest.mark.parametrize(
    ("matrix", "kind"),
    [
        (SCORES, "scores"),
        (torch.eye(3), "weights"),
        (torch.tensor([[0.5, 0.5], [0.0, 0.0]]), "weights"),
        (torch.tensor([[0.5, 0.4]]), "scores"),
        (torch.tensor([[1.5, -0.5]]), "scores"),
        (torch.eye(3) > 0, "mask"),
        (torch.tensor([[1, 0], [0, 1]]), "weights"),
    ],
)
def test_the_kind_is_read_off_the_values(matrix, kind):
    assert heatmap(matrix).svg() == heatmap(matrix, kind=kind).svg()


def fills(svg: str) -> list[str]:
    """The light colours of the cells (those with an edge), in order."""
    cell = re.compile(rf"fill: (#\w+); fill: [^;]*; stroke: {EDGE[0]}")
    return cell.findall(svg)


def test_weights_keep_one_scale_and_scores_are_centred_on_zero():
    half = torch.tensor([[0.5, 0.5]])
    sure = torch.tensor([[1.0, 0.0]])
    assert fills(heatmap(sure).svg()) == ["#6fb0e0", "#ffffff"]
    assert fills(heatmap(half).svg())[0] not in ("#6fb0e0", "#ffffff")
    scores = torch.tensor([[-2.0, 0.0, 2.0]])
    assert fills(heatmap(scores).svg()) == ["#84b8e6", "#ffffff", "#f2a65e"]


def test_panels_of_scores_share_one_scale():
    small, large = torch.tensor([[1.0, -1.0]]), torch.tensor([[4.0, -4.0]])
    together = fills(heatmap(small, large).svg())
    assert together[:2] != fills(heatmap(small).svg())
    assert together[2:] == fills(heatmap(large).svg())


def test_every_colour_has_its_dark_counterpart():
    svg = heatmap(SCORES, rows=NEPALI, columns=ENGLISH).svg()
    light = set(re.findall(r"(?:fill|stroke): (#\w{6})", svg))
    pairs = dict(re.findall(r"light-dark\((#\w+), (#\w+)\)", svg))
    assert light == set(pairs)
    assert all(pairs[colour] != colour for colour in light)
    assert pairs[PAPER[0]] == PAPER[1]


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    dark, light = sorted([luminance(a), luminance(b)])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_text_can_be_read_on_every_cell_in_both_themes(theme):
    for kind in KINDS.values():
        for pair in kind.counterparts().items():
            assert contrast(INK[theme], pair[theme]) >= 4.5
    for _, colours in AXES.values():
        assert contrast(colours[theme], PAPER[theme]) >= 4.5


def test_the_same_figure_is_the_same_bytes():
    one, two = (heatmap(SCORES, rows=NEPALI) for _ in range(2))
    assert one.svg() == two.svg()
    assert one.png() == two.png()
    assert heatmap(SCORES[:2]).svg().count("url(#h") == 2


def test_a_drawing_brings_no_ids_or_styles_that_leak_into_a_page():
    a, b = heatmap(SCORES).svg(), heatmap(SCORES * 2).svg()
    ids = [set(re.findall(r'id="([^"]+)"', svg)) for svg in (a, b)]
    assert ids[0]
    assert ids[0].isdisjoint(ids[1])
    assert "<style" not in a
    assert "<metadata" not in a


def test_a_notebook_gets_text_svg_and_png():
    bundle = heatmap(SCORES)._repr_mimebundle_()
    assert list(bundle) == ["text/plain", "image/svg+xml", "image/png"]
    png = Image.open(io.BytesIO(base64.b64decode(bundle["image/png"])))
    assert png.width > 200


def test_a_matplotlib_that_cannot_shape_nepali_draws_no_wrong_png(monkeypatch):
    monkeypatch.setattr(picture, "SHAPES_COMPLEX", False)
    assert "image/png" not in heatmap(SCORES, rows=NEPALI)._repr_mimebundle_()
    assert "image/png" in heatmap(SCORES)._repr_mimebundle_()


@pytest.mark.skipif(
    not picture.SHAPES_COMPLEX, reason="needs matplotlib 3.11 or newer"
)
def test_nepali_is_shaped_in_the_png():
    """Drawn by matplotlib, थि looks as HarfBuzz sets it, not as typed."""
    with mpl.rc_context(picture.STYLE):
        figure = Figure(figsize=(2, 1), dpi=100)
        figure.text(0.1, 0.3, "थिएन", size=40)
        file = io.BytesIO()
        figure.savefig(file, format="png")
    drawn = ink(Image.open(file))
    profiles = []
    for engine in (ImageFont.Layout.RAQM, ImageFont.Layout.BASIC):
        font = ImageFont.truetype(str(FONT), 56, layout_engine=engine)
        page = Image.new("RGB", (300, 150), "white")
        ImageDraw.Draw(page).text((30, 20), "थिएन", fill=0, font=font)
        profiles.append(ink(page))
    shaped, unshaped = ((drawn - other).abs().mean() for other in profiles)
    assert shaped < 0.8 * unshaped


def ink(page: Image.Image) -> torch.Tensor:
    """Where the ink of a page is, cropped and brought to one size."""
    grey = page.convert("L").point(lambda value: 255 - value)
    cut = grey.crop(grey.getbbox()).resize((120, 60))
    return torch.tensor(list(cut.tobytes())).view(60, 120) / 255


def test_no_figure_is_wider_than_the_page():
    for columns in (1, 8, 12, 48, 200):
        figure = heatmap(torch.randn(8, columns), axes="T F").figure
        assert figure.get_figwidth() <= 7.1


def test_large_matrices_drop_their_numbers():
    wide = torch.randn(8, 48)
    drawn = texts(heatmap(wide).svg())
    assert not any("." in text for text in drawn)


def test_what_cannot_be_drawn_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match=r"\(2, 3, 8, 8\).*choose one"):
        heatmap(torch.zeros(2, 3, 8, 8))
    with pytest.raises(ValueError, match="3 labels for an axis of size 4"):
        heatmap(SCORES[:, :3], rows=NEPALI[:3])
    with pytest.raises(ValueError, match="'logits': known are scores"):
        heatmap(SCORES, kind="logits")
    with pytest.raises(ValueError, match="'Q': known are B, T"):
        heatmap(SCORES, axes="T Q")
    with pytest.raises(ValueError, match="two letters"):
        heatmap(SCORES, axes="T")


def test_titles_can_be_given():
    picture = heatmap(SCORES, SCORES, titles=["before", "after"])
    assert "before (4, 4)" in texts(picture.svg())
    assert "after (4, 4)" in texts(picture.svg())
