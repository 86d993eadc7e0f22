"""The chapters' pictures: their letters have room on a phone, what cannot be
drawn is refused, and what is drawn is said in words."""

from dataclasses import replace

import pytest
import torch
from pictures.alignment import ribbons
from pictures.arrows import arrows
from pictures.beam_tree import beam_tree
from pictures.blocks import blocks
from pictures.broadcast import broadcast
from pictures.dots import dots
from pictures.growth import growth
from pictures.head_wires import head_wires
from pictures.look_up import look_up
from pictures.mixing import one_query
from pictures.projections import projections
from pictures.residual_stream import residual_stream

from tests.helpers.drawings import NEPALI, letter_faults
from tformer_lite import (
    FusedAttention,
    GroupedQueryAttention,
    MultiHeadAttention,
    causal_mask,
    padding_mask,
    rotate,
    running_example,
    running_model,
    sinusoids,
    tiny_translator,
    trained_translator,
    window_mask,
)
from tformer_lite.gallery import measured

EXAMPLE = running_example()
ENGLISH = EXAMPLE.src_words[0]
PADDING, CAUSAL = padding_mask(EXAMPLE.tgt, pad=1), causal_mask(8)
LONG = ["internationalisation"] * 20
HANDS = sinusoids(9, 6).unflatten(1, (-1, 2)).transpose(0, 1)  # (3, 9, 2)
Q = rotate(torch.tensor([[3.0, 1.0]]).expand(6, 2))
K = rotate(torch.tensor([[1.0, -2.0]]).expand(6, 2))
X = torch.arange(24).view(2, 12)
HEADS = X.view(2, 3, 4).transpose(0, 1)
DRAWN = torch.Generator().manual_seed(0)
TABLE = torch.randn(20, 4, generator=DRAWN)
GROWING = [TABLE[:n] for n in range(1, 5)]
ROW, V = TABLE[:8, 0], TABLE[:8]
WEIGHTS = TABLE[:8].T.softmax(-1)
SHARED = [torch.arange(8), torch.arange(8) // 4, torch.zeros(8)]
KINDS = ["multi-head", "grouped-query", "multi-query"]
MARKS = {"first": ["two", "one", "two"], "थिएन": ["one"], "none": []}


def moved(rows: int, columns: int, n_heads: int) -> list:
    """Addresses, as heads, and heads that were split in a hurry."""
    x = torch.arange(rows * columns).view(rows, columns)
    right = x.unflatten(-1, (n_heads, -1)).transpose(0, 1)
    words = ["Donaudampfschifffahrt", "मुख", *"abcdef"][:rows]
    return [
        lambda: blocks(x, right, x.view(right.shape), words=words),
        lambda: blocks(right, right.reshape(x.shape), of=x),
    ]


def river(**choices):
    """The stream of an encoder of the running model's kind."""
    encoder = running_model(replace(tiny_translator, **choices)).encoder
    return residual_stream(encoder, torch.randn(2, 8, 12))


def tree(text: str, width: int, sources: int = 1):
    """A search by the trained translator."""
    kept = trained_translator()
    english, nepali = kept.tokenizers
    src = english.encode([english.row(text, length=8)]).expand(sources, -1)
    given = {"words": nepali.words, "glosses": {"थियो": "was not there"}}
    return beam_tree(kept.model, src, 2, 3, 8, width, **given)


ROOM = [
    lambda: arrows(
        HANDS.repeat(1, 3, 1), rows=[f"i\n{9**i}" for i in range(3)]
    ),
    lambda: arrows(Q, K, titles="qk", columns=["q at 2, k at 4\n2"] * 6),
    lambda: arrows(0 * Q[:1], titles=["hand"], columns=["x" * 30]),
    *moved(2, 12, 3),
    *moved(8, 12, 3),
    *moved(3, 64, 8),
    lambda: blocks(X.flatten(), HEADS.flatten(), of=X),
    lambda: growth(GROWING, GROWING, rows=NEPALI),
    lambda: growth([TABLE[:n].repeat(1, 4) for n in range(1, 21)]),
    lambda: growth(GROWING[-1:], rows=["mathematician"] * 4),
    lambda: head_wires(*SHARED, titles=KINDS),
    lambda: head_wires(torch.tensor([0] * 32), titles=["x" * 99]),
    lambda: look_up(EXAMPLE.src[0], torch.randn(1024, 12), ENGLISH),
    lambda: look_up(
        torch.arange(0, 40000, 2000), torch.randn(40000, 30), LONG
    ),
    lambda: projections(
        torch.randn(24), GroupedQueryAttention(24, 8, n_kv_heads=2), LONG[0]
    ),
    lambda: projections(torch.randn(4), MultiHeadAttention(4, 1)),
    *(
        lambda n=n, kind=kind: river(n_layers=n, residual=kind)
        for n in (1, 6)
        for kind in ("pre", "post")
    ),
    lambda: residual_stream(running_model(), *EXAMPLE[:2]),
    lambda: tree("this was a good pen.", 1),
    lambda: tree("she ate.", 3),
    lambda: tree("i am not cold.", 5),
    lambda: broadcast(PADDING, CAUSAL, words=EXAMPLE.tgt_words),
    lambda: broadcast(causal_mask(20), window_mask(20, 3)),
    lambda: broadcast(CAUSAL, titles=["x" * 99]),
    lambda: one_query(ROW, V, PADDING[0, 0, 0], ENGLISH),
    lambda: one_query(TABLE[:, 0], TABLE.repeat(1, 16), words=LONG),
    lambda: ribbons(WEIGHTS, WEIGHTS, rows=NEPALI, columns=ENGLISH),
    lambda: ribbons(torch.eye(20), rows=LONG, columns=LONG),
    lambda: dots(measured().found, measured().shelves),
    lambda: dots(MARKS, {"first": "a title"}),
]


@pytest.mark.full
@pytest.mark.parametrize("draw", ROOM)
def test_letters_have_room_on_a_phone(draw):
    assert letter_faults(draw()) == []


REFUSED = [
    (lambda: arrows(), "0 tensors"),
    (lambda: arrows(Q, K, Q), "3 tensors"),
    (lambda: arrows(torch.zeros(4, 3)), "shows two numbers"),
    (lambda: arrows(torch.zeros(2)), "shows two numbers"),
    (lambda: arrows(Q, K[:2]), "needs its counterpart"),
    (lambda: arrows(Q / 0), "not real and finite"),
    (lambda: arrows(Q, columns=["a", "b"]), "2 labels for 6 circles"),
    (lambda: blocks(X, X + 1), "24, which is no address"),
    (lambda: blocks(X // 2), "stands in two places"),
    (lambda: blocks(X[None]), r"\(1, 2, 12\): give a tensor of addresses"),
    (lambda: blocks(X, X.view(1, 2, 3, 4)), "choose one sentence"),
    (lambda: blocks(torch.arange(130).view(2, 65)), "room for 20 words of 64"),
    (lambda: broadcast(PADDING, causal_mask(5)), "do not fit each other"),
    (lambda: broadcast(PADDING[0]), "give booleans of shape"),
    (lambda: broadcast(PADDING.float()), "give booleans of shape"),
    (lambda: broadcast(causal_mask(21)), "there is room for"),
    (lambda: growth(), "steps"),
    (lambda: growth(GROWING, GROWING[:2]), "after .2, 4. steps"),
    (lambda: growth([TABLE[0]]), "shows a matrix"),
    (lambda: growth([TABLE, TABLE[:, :2]]), "columns"),
    (lambda: head_wires(torch.tensor([[0]])), "has shape"),
    (lambda: head_wires(torch.zeros(33)), "has shape"),
    (lambda: head_wires(torch.tensor([-1])), "has numbers"),
    (lambda: head_wires(torch.tensor([0.5])), "has numbers"),
    (lambda: look_up(X, TABLE), "one sentence"),
    (lambda: look_up(X[0, :0], TABLE), "one sentence"),
    (lambda: look_up(torch.tensor([20]), TABLE), "id 20 is outside"),
    (lambda: projections(ROW, FusedAttention(12, 3)), "has no query"),
    (lambda: projections(V, MultiHeadAttention(4, 1)), "one word's vector"),
    (lambda: residual_stream(torch.nn.Linear(4, 2), V), "Linear ran no Stack"),
    (lambda: tree("she ate.", 0), "width=0 and 1 sources"),
    (lambda: tree("she ate.", 2, sources=2), "width=2 and 2 sources"),
    (lambda: one_query(ROW[None], V), r"scores \(1, 8\).*choose one"),
    (lambda: one_query(ROW, V, torch.ones(2)), "mask"),
    (lambda: ribbons(-WEIGHTS), "negative"),
    (lambda: ribbons(WEIGHTS, row="x"), "row='x' is none of"),
    (lambda: ribbons(WEIGHTS, titles=["a", "b"]), "1 tensors, 2 titles"),
    (lambda: dots({"a": [], "b": []}), "2 rows, and no mark in any"),
    (lambda: dots(MARKS, {"x": "title"}), "no row 'x': there are first"),
]


@pytest.mark.parametrize(("draw", "rule"), REFUSED)
def test_what_cannot_be_drawn_is_refused(draw, rule):
    with pytest.raises(ValueError, match=rule):
        draw()


SAID = [
    (lambda: arrows(Q[2:], K[:4]), f"product {Q[2] @ K[0]:.2f}"),
    (lambda: blocks(X, X.view(3, 2, 4)), "X.view(3, 2, 4) (3, 2, 4): 8 of 24"),
    (lambda: blocks(HEADS, HEADS.reshape(2, 12), of=X), "0 0 1 2 3 1 0 1 2 3"),
    (lambda: broadcast(PADDING, CAUSAL), "PADDING stores 16 of 128 places"),
    (lambda: broadcast(PADDING, CAUSAL), "together 56 of 128 places are allo"),
    (lambda: broadcast(PADDING, CAUSAL), "\n1 1 . . . . . .\n"),
    (
        lambda: growth(GROWING, GROWING, rows=NEPALI, titles="kv"),
        "k, v grow over 4 steps: after step 1 (1, 4), (1, 4);",
    ),
    (
        lambda: growth(GROWING, rows=NEPALI, titles="k"),
        "step 4, k of ।: " + " ".join(f"{x:.2f}" for x in TABLE[3].tolist()),
    ),
    (lambda: head_wires(SHARED[1]), "8 heads of queries share 2 heads of key"),
    (lambda: head_wires(SHARED[1]), "key head  0  0  0  0  1  1  1  1"),
    (
        lambda: look_up(torch.tensor([2, 0, 9, 0]), TABLE, ENGLISH[:4]),
        "4 ids fetch 3 of 20 rows: mouth, not fetch row 0.",
    ),
    (
        lambda: projections(torch.ones(12), MultiHeadAttention(12, 3), "not"),
        "in 3, 3 and 3 heads of 4 channels",
    ),
    (lambda: residual_stream(running_model(), *EXAMPLE[:2]), "decoder: the "),
    (lambda: tree("this was a good pen.", 2), "कलम थियो । [EOS] has 0.41"),
    (lambda: tree("this was a good pen.", 2), "थिएन 0.37, together 0.21, dro"),
    (lambda: one_query(ROW, V, PADDING[0, 0, 0], ENGLISH), "Masked: ., "),
    (
        lambda: ribbons(torch.eye(2), torch.eye(2), titles="ab", row=1),
        "b: ribbons as wide as weights, (2, 2). 1 attends to 1 (1.00), 0",
    ),
    (
        lambda: dots(MARKS),
        "3 rows, 2 columns (3, 2): 1 rows have one dot alone, 1 none. Most "
        "dots, 2, are in the column one.\n\nfirst: two, one\nथिएन: one",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "words"), SAID)
def test_what_is_drawn_is_said_in_words_and_numbers(draw, words):
    assert words in draw().text
