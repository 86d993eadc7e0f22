"""The map of the model: its shapes are the trace's, one part is lit."""

import re

import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch

from tests.helpers.diagrams import (
    OneCall,
    boxes,
    drawn,
    holds,
    traced,
    written,
)
from tests.helpers.drawings import texts
from tests.helpers.small import small
from tformer_lite import DecoderOnly, EncoderDecoder, char_lm, trace, where
from tformer_lite.drawing.diagram.map import HERE, LIT, PARTS, RIM

LABELS = {
    "ids": "source ids",
    "heads": "split into heads",
    "scores": "scores: q @ kᵀ / √D",
    "output": "output projection",
    "feed_forward": "feed-forward",
    "residual": "residual sum",
    "self_attention": "self-attention",
    "cross_attention": "cross-attention",
}


@pytest.fixture
def seen():
    return traced("tiny")


# --- shapes --------------------------------------------------------------


def shapes(picture) -> list[str]:
    """The shapes in a drawing, put together from their columns."""
    drawn = texts(picture.svg())
    sizes = [text for text in drawn if re.fullmatch(r"\(?\d+[,)]", text)]
    return re.findall(r"\([\d, ]+\)", " ".join(sizes))


@pytest.mark.parametrize("name", ["tiny", "sizes", "paper"])
def test_the_shapes_on_the_map_are_those_of_the_run(name):
    seen = traced(name)
    config = {key: seen.run.sizes[key] for key in "BSTC"}
    b, s, t, c = config.values()
    vocabulary = seen.result.shape[-1]
    drawn = shapes(where(seen, "head"))
    assert set(drawn) == {
        f"({b}, {s})",
        f"({b}, {s}, {c})",
        f"({b}, {t})",
        f"({b}, {t}, {c})",
        f"({b}, {t}, {vocabulary})",
    }
    # Every part but the ids and the head gives channels.
    parts = 8 + 11 + (0 if name == "paper" else 2)
    both = [f"({b}, {s}, {c})", f"({b}, {t}, {c})"]
    assert sum(map(drawn.count, set(both))) == parts


@pytest.mark.parametrize(
    ("part", "asks"), [("mask", 7), ("cross_attention", 5)]
)
def test_the_shapes_inside_attention_are_those_of_the_run(part, asks):
    on_map = shapes(where(traced("sizes"), "head"))
    inside = shapes(where(traced("sizes"), part))[len(on_map) :]
    x, memory = f"(4, {asks}, 16)", "(4, 7, 16)"
    ins = [x] if asks == 7 else [x, memory]
    q, k, v = f"(4, 2, {asks}, 8)", "(4, 2, 8, 7)", "(4, 2, 7, 8)"
    scores = f"(4, 2, {asks}, 7)"
    expected = [*ins, x, memory, memory, q, k, v, *[scores] * 3]
    assert sorted(inside) == sorted([*expected, "(4, 1, 1, 7)", q, x, x])


def test_fused_projections_are_drawn_as_they_ran():
    text = where(traced("paper"), "projections").text
    assert "It gives qkv (B, S, 3C) = (4, 7, 48)." in text
    assert "(4, 7, 48)" in shapes(where(traced("paper"), "scores"))
    text = where(traced("paper"), "cross_attention").text
    assert "query (B, T, C) = (4, 5, 16)" in text
    assert "key_value (B, S, 2C) = (4, 7, 32)" in text


def test_shapes_that_the_run_does_not_have_are_left_out():
    one_call = {"attention": OneCall, "cross_attention": "fused"}
    model = EncoderDecoder(small("paper_base", **one_call))
    ids = torch.ones(1, 4, dtype=torch.long)
    picture = where(trace(model, ids, ids), "softmax")
    assert "self-attention. The map shows" in picture.text
    assert "k (1?, 3?, 4?, 4?) = (1, 3, 4, 4)" in picture.text
    drawn = texts(picture.svg())
    assert {f"softmax {HERE}", "masked", "k"} <= {*drawn}


def test_parts_stand_in_the_order_in_which_they_ran():
    order = {}
    for name in "tiny", "paper":
        drawn = texts(where(traced(name), "head").svg())
        known = "norm", "self-attention", "residual sum"
        order[name] = [text for text in drawn if text in known][:3]
    assert order["tiny"] == ["norm", "self-attention", "residual sum"]
    assert order["paper"] == ["self-attention", "residual sum", "norm"]
    assert "encoder × 1" in texts(where(traced("tiny"), "head").svg())
    assert "encoder × 2" in texts(where(traced("paper"), "head").svg())


def test_names_that_are_not_proved_show_it():
    picture = where(traced("unproved"), "scores")
    assert {"B~", "8?", "C~"} <= set(texts(picture.svg()))
    assert "(B~, 8?, C~) = (2, 8, 12)" in picture.text


# --- where we are --------------------------------------------------------


def lit(figure) -> list[FancyBboxPatch]:
    """The boxes in the colour of the current part."""
    fill = LIT[0]
    return [
        box for box in boxes(figure) if to_hex(box.get_facecolor()) == fill
    ]


@pytest.mark.parametrize(
    ("name", "part"),
    [("tiny", part) for part in PARTS]
    + [("paper", part) for part in ("residual", "norm", "decoder")],
)
def test_each_part_lights_one_box_in_three_ways(name, part):
    figure = drawn(name, part)
    (box,) = lit(figure)
    ground = boxes(figure)[box]
    others = [b.get_linewidth() for b in boxes(figure) if b is not box]
    assert box.get_linewidth() >= 2 * max(others)
    assert to_hex(box.get_edgecolor()) == RIM[0]
    places = written(figure)
    inside = [t.get_text() for t, at in places.items() if holds(ground, at)]
    assert sum(HERE in text for text in inside) == 1
    assert sum(HERE in text.get_text() for text in places) == 1
    if part in ("encoder", "decoder"):
        assert f"{part} × {1 if name == 'tiny' else 2}" in inside
    else:
        label = LABELS.get(part, part)
        assert f"{label}  {HERE}" in inside


def test_the_text_says_where_we_are_and_lists_the_parts(seen):
    first, listing = where(seen, "softmax").text.split("\n\n")
    assert first.startswith(
        "Where we are: softmax, inside the encoder's self-attention. It "
        "gives weights (B, H, S, S) = (2, 3, 8, 8). The map shows"
    )
    (line,) = [line for line in listing.splitlines() if "→" in line]
    assert line.split(maxsplit=2)[:2] == ["→", "softmax"]
    names = [line[:20].strip() for line in listing.splitlines()]
    assert names.index("source ids") < names.index("self-attention")
    assert names.index("self-attention") < names.index("target ids")
    assert max(map(len, listing.splitlines())) <= 76
    assert "head, after the decoder's blocks" in where(seen, "head").text


@pytest.mark.parametrize(
    ("part", "gives"),
    [
        ("scores", "scores (B, H, S, S)"),
        ("mask", "masked (B, H, S, S)"),
        ("softmax", "weights (B, H, S, S)"),
        ("output", "output (B, S, C)"),
    ],
)
def test_each_step_of_attention_gives_what_the_book_calls_so(
    seen, part, gives
):
    assert f"It gives {gives} = (2, " in where(seen, part).text


@pytest.mark.parametrize("part", PARTS)
def test_every_part_has_one_mark_in_the_text(seen, part):
    text = where(seen, part).text
    assert text.count("→") == 1
    assert text.startswith("Where we are: ")


def test_what_is_not_there_is_refused(seen):
    with pytest.raises(ValueError, match="'atention': known are ids.*head"):
        where(seen, "atention")
    ids = torch.ones(1, 4, dtype=torch.long)
    with pytest.raises(ValueError, match="trace an EncoderDecoder"):
        where(trace(DecoderOnly(char_lm), ids), "head")
    model = EncoderDecoder(small("tiny_translator", positions="none"))
    bare = trace(model, ids, ids)
    assert where(bare, "embedding").text
    with pytest.raises(ValueError, match="this model has no positions"):
        where(bare, "positions")
