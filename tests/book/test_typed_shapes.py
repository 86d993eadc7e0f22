"""A typed shape is compared with a measured one: what is right is said to be
right, and of what is wrong, which axis."""

import json

import pytest

from tests.helpers.project import ROOT
from tests.helpers.typed import judged

Q, SCORES, X = "B 2,H 3,T 8,D 4", "B 2,H 3,T 8,S 8", "B 2,T 8,C 12"
LOGITS, MASK = "B 2,T 8,V 1024", "1 1,1 1,T 8,T 8"
SWAPPED = "heads (H) and target positions (T) are swapped: transposed where?"
CASES = {
    ("right", Q): dict.fromkeys(
        ["(2, 3, 8, 4)", "2 3 8 4", "2x3x8x4", "torch.Size([2, 3, 8, 4])",
         "BHTD", "b, h, t, d", "B n_heads T D", "(B, 3, T, 4)",
         "B=2, H=3, T=8, D=4", "B × H × T × D", "`2, 3, 8, 4`"],
        "Right: ",
    ),
    ("right", X): {"B T d_model": "Right: "},
    ("right", LOGITS): {
        "(2, 8, 1,024)": "Right: ",
        "2, 8, 1024": "Right: ",
        "B T vocab_size": "Right: ",
    },
    ("right", MASK): {"1, 1, T, T": "Right: "},
    ("right", "T 8"): {"(8,)": "Right: ", "T": "Right: "},
    ("right", ""): {"()": "Right: "},
    ("nearly", Q): {
        "B H S D": "the third axis is target positions (T), not S",
    },
    ("nearly", SCORES): {
        "B H S T": "(T) and source positions (S) are swapped: both are 8",
        "B H T T": "the last axis is source positions (S), not T",
    },
    ("nearly", X): {
        "B T H*D": "the last axis is channels (C), not H·D: both are 12",
    },
    ("wrong", Q): {
        "(2, 8, 3, 4)": SWAPPED,
        "2 8 12": "heads (H) and channels per head (D) are still joined: "
        "12 = H · D.",
        "2 8 4": "one axis is missing: heads (H).",
        "3 4": "2 axes are missing: batch (B) and target positions (T).",
        "2 3 8 48": "the last axis cannot be 48, the size of hidden channels "
        "of the feed-forward layer (F); here it is channels per head (D), 4.",
        "2 3 8 7": "the last axis cannot be 7, which is the size of no letter",
        "4 8 3 2": "another order. The first is batch (B).",
        "2 3 8 4 1": "one axis is too many: an axis of size 1.",
        "2 3 8 4 8": "too many: 8, the size of target positions (T) or "
        "source positions (S).",
        "5 5": "4 axes are expected, your shape has 2. One that is missing: "
        "batch (B).",
        "7 7 7 7": "4 axes are not right; the first axis cannot be 7",
    },
    ("wrong", SCORES): {
        "2 3 8": "missing: source positions (S) or target positions",
        "B H T": "missing: source positions (S).",
    },
    ("wrong", X): {
        "2 8 3 4": "3 and 4 are one axis here: channels (C), 12 = 3 · 4.",
    },
    ("wrong", MASK): {
        "8 8": "2 axes are missing: an axis of size 1 and another.",
    },
    ("unread", Q): {
        "": "Type a shape.",
        "hello": "“hello” is no axis that I know.",
        "B Q T": "“Q” is no axis letter that I know.",
        "2, -1, 4": "-1 lets PyTorch work a size out. Which one will it be?",
        "<b>2</b>": "is no axis that I know.",
        "2.5": "“2.5” is no axis",
    },
}  # fmt: skip
EVERY = [
    (verdict, measured, typed, says)
    for (verdict, measured), answers in CASES.items()
    for typed, says in answers.items()
]


@pytest.fixture(scope="module")
def said():
    asked = [(measured, typed) for _, measured, typed, _ in EVERY]
    return dict(zip(asked, judged(asked), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("verdict", "measured", "typed", "says"), EVERY)
def test_a_typed_shape_is_told_what_is_wrong(
    said, verdict, measured, typed, says
):
    got = said[measured, typed]
    assert got["verdict"] == verdict
    assert says in got["says"]


@pytest.mark.slow
def test_every_measured_shape_is_right_when_it_is_typed():
    """In letters as in sizes; and with an axis more it is wrong."""
    shapes = json.loads((ROOT / "book" / "shapes.json").read_text())["shapes"]
    texts = {
        ",".join(f"{n} {size}" for n, size in axes)
        for axes in shapes.values()
        if axes
    }
    asked, wanted = [], []
    for text in sorted(texts):
        names, sizes = zip(*(axis.split() for axis in text.split(",")))
        asked += [(text, " ".join(names)), (text, " ".join(sizes))]
        asked += [(text, " ".join([*sizes, "7"]))]
        wanted += ["right", "right", "wrong"]
    assert [got["verdict"] for got in judged(asked)] == wanted
