"""The chapters' pictures draw what was computed, where their numbers say; they
say it in words; their letters have room on a phone; and what cannot be drawn
is refused."""

import math
import re

import pytest
import torch
from matplotlib import patches
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex
from pictures.alignment import BAND, bands, ribbons
from pictures.arrows import arrows
from pictures.beam_tree import WatchedBeams, beam_tree
from pictures.blocks import blocks
from pictures.broadcast import broadcast
from pictures.dots import dots
from pictures.growth import growth
from pictures.head_wires import head_wires
from pictures.look_up import look_up
from pictures.mixing import one_query
from pictures.projections import projections
from pictures.shadow import shadows
from pictures.turning import before_the_english, stream_turns
from pictures.waves import HIGH, SIZE, position_waves
from pictures.without import without
from pictures.word_rows import word_rows
from torch.testing import assert_close

from gallery import stored_catches
from tests.helpers.drawings import NEPALI, letter_faults, texts
from tformer_lite import (
    FusedAttention,
    MultiHeadAttention,
    beam,
    cached,
    causal_mask,
    padding_mask,
    rotate,
    running_example,
    running_model,
    running_trace,
    sinusoids,
    stored,
    trained_translator,
    window_mask,
)
from tformer_lite.decoding.search import follow
from tformer_lite.drawing.surface.palette import RIM, WRONG

EXAMPLE, KEPT = running_example(), trained_translator()
UNSEEN = "ram's dog knew me."  # where greed goes wrong
ENDS = 2, 3, 8  # start, end, longest
ENGLISH = EXAMPLE.src_words[0]
PADDING, CAUSAL = padding_mask(EXAMPLE.tgt, pad=1), causal_mask(8)
LONG = ["internationalisation"] * 20
Q = rotate(torch.tensor([[3.0, 1.0]]).expand(6, 2))
K = rotate(torch.tensor([[1.0, -2.0]]).expand(6, 2))
X = torch.arange(24).view(2, 12)
HEADS = X.view(2, 3, 4).transpose(0, 1)
ROWS = torch.arange(96).view(8, 12)
DRAWN = torch.Generator().manual_seed(0)
TABLE = torch.randn(20, 4, generator=DRAWN)
GROWING = [TABLE[:n] for n in range(1, 5)]
ROW = torch.tensor([0.5, -1.25, 2.0, 0.25])
V = torch.tensor([[1.0, -2.0], [0.5, 0.0], [3.0, 1.0], [9.0, 9.0]])
MASK = torch.tensor([True, True, True, False])
WEIGHTS = torch.tensor([[0.6, 0.3, 0.07, 0.03], [0.0, 0.0, 0.0, 1.0]])
SHARED = [torch.arange(8), torch.arange(8) // 4, torch.zeros(8)]
KINDS = ["multi-head", "grouped-query", "multi-query"]
SHARES = {f"{seed}": share for seed, share in enumerate((0.5, 0.55, 1.0), 1)}
CUT = {"sums": {"nothing": SHARES, "norms": {"1": 0.25}}, LONG[0]: {}}
MARKS = {"first": ["two", "one", "two"], "थिएन": ["one"], "none": []}


def source(text: str) -> torch.Tensor:
    english = KEPT.tokenizers[0]
    return english.encode([english.row(text, length=8)])


def tree(text: str, width: int):
    """A search by the trained translator."""
    words = KEPT.tokenizers[1].words, {"थियो": "was not there"}
    given = dict(zip(("words", "glosses"), words))
    return beam_tree(KEPT.model, source(text), *ENDS, width, **given)


ROOM = [
    lambda: arrows(Q, K, titles="qk", columns=["q at 2, k at 4\n2"] * 6),
    lambda: blocks(ROWS, ROWS.view(3, 8, 4), words=[*"abcdefg", LONG[0]]),
    lambda: growth([TABLE[:n].repeat(1, 4) for n in range(1, 21)]),
    lambda: head_wires(*SHARED, titles=KINDS),
    lambda: look_up(
        torch.arange(0, 40000, 2000), torch.randn(40000, 30), LONG
    ),
    lambda: projections(
        torch.randn(24), MultiHeadAttention(24, 8, n_kv_heads=2), LONG[0]
    ),
    lambda: tree("i am not cold.", 5),
    lambda: broadcast(causal_mask(20), window_mask(20, 3)),
    lambda: one_query(TABLE[:, 0], TABLE.repeat(1, 16), words=LONG),
    lambda: ribbons(torch.eye(20), rows=LONG, columns=LONG),
    lambda: shadows(V[0], V[2:], ["थिएन", *LONG[:2]]),
    lambda: position_waves(sinusoids(20, 24)),
    lambda: dots(stored_catches().found, stored_catches().shelves),
    lambda: without(CUT),
    lambda: without(stored("left_out")["tasks"]),
    lambda: before_the_english(running_trace(), EXAMPLE, at=1),
    lambda: stream_turns(running_trace(), EXAMPLE, at=1),
]


@pytest.mark.full
@pytest.mark.parametrize("draw", ROOM)
def test_letters_have_room_on_a_phone(draw):
    assert letter_faults(draw()) == []


REFUSED = [
    (lambda: arrows(Q, K[:2], ["a"] * 6, "qk"), "needs its counterpart"),
    (lambda: shadows(ROW, V[:2], ["a", "b"]), "2 names: give"),
    (lambda: position_waves(torch.ones(8, 3)), r"table \(8, 3\).*C even"),
    (lambda: blocks(X, X + 1), "24, which is no address"),
    (lambda: broadcast(PADDING, causal_mask(5)), "do not fit each other"),
    (lambda: growth(GROWING, GROWING[:2]), "after .2, 4. steps"),
    (lambda: look_up(torch.tensor([20]), TABLE), "id 20 is outside"),
    (lambda: projections(ROW, FusedAttention(12, 3)), "has no query"),
    (lambda: one_query(ROW[None], V), r"scores \(1, 4\).*choose one"),
    (lambda: ribbons(-WEIGHTS), "negative"),
    (lambda: without(CUT, "mask"), "part='mask' is none of nothing, norms"),
    (lambda: word_rows([1], [], titles="ab"), r"rows of \[1, 0\] words"),
]


@pytest.mark.parametrize(("draw", "rule"), REFUSED)
def test_what_cannot_be_drawn_is_refused(draw, rule):
    with pytest.raises(ValueError, match=rule):
        draw()


SAID = [
    (
        lambda: word_rows("ab", "40", "a?", titles="xyz", names="mn"),
        "x: a, b. y: 4, 0. z: a, ?. Not the same in the end: n.",
    ),
    (
        lambda: without(CUT),
        "sums, percent right: nothing left out 50, 55, 100; norms",
    ),
    (lambda: blocks(X, X.view(3, 2, 4)), "X.view(3, 2, 4) (3, 2, 4): 8 of 24"),
    (lambda: broadcast(PADDING, CAUSAL), "63 of 128 places are allowed"),
    (
        lambda: growth(GROWING, rows=NEPALI, titles="k"),
        "step 4, k of ।: " + " ".join(f"{x:.2f}" for x in TABLE[3].tolist()),
    ),
    (
        lambda: look_up(torch.tensor([2, 0, 9, 0]), TABLE, ENGLISH[:4]),
        "4 ids fetch 3 of 20 rows: mouth, not fetch row 0.",
    ),
    (lambda: tree(UNSEEN, 2), "खुला 0.17, together 0.06, dropped"),
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


def found(picture, kind: type) -> list:
    """What of a kind is on a picture's panels, in the order it was drawn."""
    axes = [figure.axes[0] for figure in picture.figures]
    every = (x for ax in axes for x in [*ax.patches, *ax.collections])
    return [x for x in every if type(x) is kind]


def cells(picture) -> dict[tuple, list[float]]:
    """The left, right and middle of each matrix, and its numbers."""
    places = {}
    for mesh in found(picture, QuadMesh):
        corners = mesh.get_coordinates()
        (left, top), (right, low) = corners[0, 0], corners[-1, -1]
        values = mesh.get_array().flatten().tolist()
        places[left, right, (top + low) / 2] = values
    return places


def wires(picture) -> list:
    """The points of each curve."""
    return [
        path.get_path().vertices for path in found(picture, patches.PathPatch)
    ]


# --- arrows --------------------------------------------------------------


def test_a_shadow_is_as_long_as_the_dot_product_says():
    picture = shadows(V[0], V[1:], ["a", "b", "c", "थिएन"])
    bars = found(picture, patches.Rectangle)
    wide = torch.tensor([bar.get_width() for bar in bars])
    assert_close(wide / wide[1], (V[1:] @ V[0]).abs())
    one, other, down = (to_hex(bar.get_facecolor()) for bar in bars)
    assert one == other != down
    assert "a · थिएन: at 108°, 2.24 × -4.02 = -9.00." in picture.text


def test_the_dots_of_positions_are_the_numbers_of_the_table():
    table = sinusoids(8, 6)
    lines = position_waves(table).figures[0].axes[0].lines
    dots = [x.get_ydata().tolist() for x in lines if x.get_marker() == "o"]
    rows = HIGH * (torch.arange(6) // 2 + 0.5) - torch.tensor(dots).T
    assert_close(rows / SIZE, table)


def test_two_that_move_on_together_keep_the_angle_and_its_colour():
    picture = arrows(Q[[2, 3, 5, 5]], K[[0, 1, 3, 1]], "abcd", titles="qk")
    wedges = found(picture, patches.Wedge)
    angles = [wedge.theta2 - wedge.theta1 for wedge in wedges]
    between = math.degrees(math.acos(Q[2] @ K[0] / Q[2].norm() / K[0].norm()))
    assert_close(angles[:3], [between] * 3, atol=1e-3, rtol=0)
    colours = [wedge.get_facecolor() for wedge in wedges]
    assert colours[0] == colours[1] == colours[2] != colours[3]
    assert f"q · k = {Q[5] @ K[1]:.2f}".replace("-", "−") in picture.svg()


# --- beam search ---------------------------------------------------------


def watched(text: str, width: int) -> WatchedBeams:
    beams = WatchedBeams(source(text), 2, 3, width, 0.6)
    with torch.no_grad():
        follow(KEPT.model, source(text), beams, ENDS[-1])
    return beams


@pytest.mark.parametrize(
    ("text", "width"), [(UNSEEN, 2), ("the teacher ate.", 4)]
)
def test_it_is_the_search_and_the_chances_are_the_models(text, width):
    beams, src = watched(text, width), source(text)
    best, *_ = beams.ranked()
    row = [node.token for node in best.path()][::-1]
    result = beam(KEPT.model, src, *ENDS, width=width)
    assert row == result[0, : len(row)].tolist()
    with torch.no_grad():
        log_probs = KEPT.model(src, torch.tensor([row])).log_softmax(-1)[0]
    for node in best.path():
        if node.before:
            chance = log_probs[node.step - 1, node.token].exp().item()
            assert node.chance == pytest.approx(chance, abs=1e-4)
            total = node.before.total * chance
            assert node.total == pytest.approx(total, abs=1e-4)
    assert math.log(best.total) == pytest.approx(beams.total[0].item())


# --- blocks and masks ----------------------------------------------------


@pytest.mark.parametrize("moved", [HEADS, X.view(3, 2, 4), HEADS.flatten()])
def test_an_element_keeps_its_colour_and_its_channel(moved):
    picture = blocks(X, moved, words=["mouth", "is"], n_heads=3)
    colours = [
        to_hex(mesh.cmap(mesh.norm(value)))
        for mesh in found(picture, QuadMesh)
        for value in mesh.get_array().flatten()
    ]
    written = [text.get_text() for text in picture.figures[0].axes[0].texts]
    channels = [int(text) for text in written if text.isdigit()]
    assert len(set(colours[:24])) == 6  # two words, three heads
    numbers = moved.flatten().tolist()
    assert colours[24:] == [colours[number] for number in numbers]
    assert channels[24:] == [number % 12 for number in numbers]


def test_words_that_do_not_belong_there_are_marked():
    picture = blocks(X, HEADS, X.view(3, 2, 4), words=["mouth", "is"])
    written = picture.figures[0].axes[0].texts
    said = [t.get_text() for t in written if t.get_color() == WRONG[0]]
    assert said == ["mouth", "is", "8 of 24 elements in their place"]


def test_what_is_stored_is_filled_and_all_that_is_hidden_is_hatched():
    picture = broadcast(PADDING, CAUSAL, words=EXAMPLE.tgt_words)
    meshes = [mesh.get_array() for mesh in found(picture, QuadMesh)]
    sizes = [mesh.size for mesh in meshes]
    assert sizes == [8, 8, 64, 64, 64]  # two rows, a square, and two
    both = torch.stack([torch.tensor(mesh.tolist()) for mesh in meshes[3:]])
    assert both.bool().equal((PADDING & CAUSAL)[:, 0])
    hatched = sum(
        len(path.get_path()) // 5
        for path in found(picture, patches.PathPatch)
        if path.get_hatch()
    )
    every = [m.expand(2, 1, 8, 8) for m in (PADDING, CAUSAL, PADDING & CAUSAL)]
    assert hatched == sum((~mask).sum().item() for mask in every)


# --- dots, tables that grow, wires ---------------------------------------


def test_a_row_has_one_dot_for_each_of_its_marks():
    picture = dots(MARKS, {"first": "a title"})
    words = ["one", "two", *MARKS, "a title", "in all", "2", "1"]
    assert all(texts(picture.svg()).count(word) == 1 for word in words)
    lines = dots(MARKS).figures[0].axes[1].lines
    full, rings = [sorted(zip(*line.get_data())) for line in lines]
    # Columns: one, two; it has more dots.
    assert (full, rings) == ([(0, 1)], [(0, 0), (1, 0)])


def framed_rows(picture) -> int:
    """How many rows are in frames."""
    frames = [
        patch.get_height()
        for patch in found(picture, patches.Rectangle)
        if to_hex(patch.get_edgecolor()) == RIM[0]
    ]
    return round(sum(frames) / 15)


def test_what_a_cache_computes_is_framed_once_and_what_changes_again():
    keeper = cached(running_model())
    memory, keys, source_keys = keeper.encode(EXAMPLE.src), [], []
    block = keeper.decoder.blocks[0]
    for t in range(1, 5):
        keeper.decode(EXAMPLE.tgt[:, :t], memory, EXAMPLE.src)
        keys.append(block.self_attention.keys[0, 0].clone())
        source_keys.append(block.cross_attention.keys[0, 0])
    picture = growth(keys, keys)
    assert framed_rows(picture) == 8
    assert "4 × 2 × 4 = 32" in picture.svg()
    assert framed_rows(growth(source_keys)) == 8  # in the first step alone
    keys[3][0] += 1
    assert framed_rows(growth(keys)) == 5


@pytest.mark.parametrize("keys", [[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 2, 0]])
def test_each_wire_ends_at_the_key_head_that_was_measured(keys):
    picture = head_wires(torch.tensor(keys))
    ends = [wire[-1].tolist() for wire in wires(picture)]
    boxes = found(picture, patches.FancyBboxPatch)
    lefts = sorted(b.get_x() for b in boxes if b.get_y() == ends[0][1])
    assert [sum(left < x for left in lefts) - 1 for x, _ in ends] == keys
    some, every = max(keys) + 1, len(keys)
    assert f"{some} k, v heads: {some}/{every}".replace("2/4", "1/2") in (
        picture.svg()
    )


def test_each_wire_leads_through_the_row_that_the_id_has():
    table, ids = torch.arange(60.0).view(20, 3), torch.tensor([2, 0, 9, 0])
    picture = look_up(ids, table, ["[SOS]", "mouth", "is", "empty"])
    ends = {(left, y): row for (left, _, y), row in cells(picture).items()}
    starts = {(right, y): row for (_, right, y), row in cells(picture).items()}
    for wire, id_ in zip(wires(picture)[1::2], ids.tolist()):
        # From its row of the table to the same row among the fetched.
        assert starts[tuple(wire[0])] == table[id_].tolist()
        assert ends[tuple(wire[-1])] == table[id_].tolist()
    marked = [
        path
        for path in found(picture, patches.PathPatch)
        if to_hex(path.get_edgecolor()) == RIM[0]
    ]
    assert len(marked) == 4  # two to the row, two from it


def test_the_rows_of_a_word_are_what_the_layer_makes_of_it():
    layer, x = MultiHeadAttention(12, 3), torch.randn(12)
    drawn = cells(projections(x, layer, "not")).values()
    numbers = [number for values in drawn for number in values]
    parts = x, layer.query(x), layer.key(x), layer.value(x)
    assert_close(torch.tensor(numbers[:48]), torch.cat(parts))  # then, a scale


# --- one query, ribbons --------------------------------------------------


def test_one_query_shows_the_numbers_of_every_step():
    weights = ROW.masked_fill(~MASK, -math.inf).softmax(0)
    picture = one_query(ROW, V, MASK, ENGLISH[:4], "of थिएन")
    drawn, output = texts(picture.svg()), weights @ V
    numbers = [*ROW.tolist(), *weights.tolist(), *output.tolist()]
    for value in [*numbers, (weights[2] * V[2, 0]).item()]:
        assert f"{value:.2f}".replace("-", "−") in drawn
    assert drawn.count("−∞") == 1
    assert {*ENGLISH[:4], "score", "+ mask", "weight", "output"} <= set(drawn)
    assert "Masked: not." in picture.text
    assert "is that of is." in picture.text
    assert "+ mask" not in texts(one_query(ROW, V).svg())
    hidden = one_query(ROW.masked_fill(~MASK, -math.inf), V)
    assert hidden.text.count("-∞") == picture.text.count("-∞") == 1


def test_bars_are_as_high_as_scores_and_weights():
    figure = one_query(ROW, V).figures[0]
    scores, weights = (
        [bar.get_height() for bar in ax.patches[-4:]] for ax in figure.axes[1:]
    )
    assert scores == ROW.tolist()
    assert_close(
        torch.tensor(weights), ROW.softmax(0).double(), check_dtype=False
    )
    low, high = figure.axes[1].get_ylim()
    assert low <= -1.25 < 2.0 <= high


def test_ribbons_are_as_wide_as_weights_and_lie_side_by_side():
    weights = torch.tensor([[0.6, 0.3, 0.07, 0.03], [0.4, 0.0, 0.0, 0.6]])
    # Those below THIN have none.
    first, second, third, _ = bands(weights, [100, 300], [50, 150, 250, 350])
    wide = [band[-1] for band in (first, second, third)]
    assert wide == pytest.approx([0.6 * BAND, 0.3 * BAND, 0.4 * BAND])
    assert second[2] - first[2] == pytest.approx((wide[0] + wide[1]) / 2)
    assert third[1] - first[1] == pytest.approx((wide[0] + wide[2]) / 2)
    assert first[2] + 0.15 * BAND == pytest.approx(100)
    picture = ribbons(WEIGHTS, rows=NEPALI[:2], columns=ENGLISH[:4], row="मुख")
    lit = [
        to_hex(path.get_edgecolor())
        for path in found(picture, patches.PathPatch)
    ]
    assert [colour == RIM[0] for colour in lit] == [False, False, True]


def test_a_bar_is_the_mean_a_line_the_seeds_and_a_mark_the_whole():
    shares = {"names": {"nothing": {"1": 1.0}, "norms": SHARES}}
    picture = without(shares, "norms")
    everything, part = (
        x.get_width() for x in found(picture, patches.Rectangle)
    )
    seeds, whole = picture.figures[0].axes[0].lines
    mean = sum(SHARES.values()) / len(SHARES)
    assert part / everything == pytest.approx(mean)
    assert [*seeds.get_xdata()] == [0.5 * everything, everything]
    assert [*whole.get_xdata()] == [everything, everything]


def test_a_table_has_the_mean_of_each_task_without_each_part():
    picture = without({"order": {"nothing": SHARES}, **CUT})
    drawn = texts(picture.svg())
    assert drawn[0] == "order"  # is explained first
    assert drawn.count("68") == 2  # whole: of order, and of sums
    assert drawn.count("25") == 1  # without norms


# --- what cross-attention changes ----------------------------------------


@pytest.fixture(scope="module")
def seen():
    return running_trace()


@pytest.mark.slow
def test_a_guess_is_what_norm_and_head_make_of_the_stream(seen):
    model, got = running_model(), []
    for norm in model.decoder.blocks[0].norms[1:]:
        norm.register_forward_pre_hook(lambda _, given: got.append(given[0]))
    with torch.no_grad():
        model(*EXAMPLE[:2])
        logits = model.head(model.decoder.norm(torch.stack(got)[:, 1, :6]))
    picture = before_the_english(seen, EXAMPLE, at=1)
    boxes = found(picture, patches.Rectangle)
    drawn = [x.get_width() / boxes[0].get_width() for x in boxes[1::2]]
    chances = logits.softmax(-1).amax(-1)
    assert drawn == pytest.approx(chances.T.flatten().tolist(), abs=1e-5)
    assert "भोको: खाट 28 %, looks at dog 52 %, the 11 %, then" in picture.text


@pytest.mark.slow
def test_a_shadow_times_the_length_of_its_row_is_the_score(seen):
    picture = stream_turns(seen, EXAMPLE, at=1, place=1)
    scores = [float(x) for x in re.findall(r"\d+\.\d", picture.text)]
    heads = seen.model.head.weight.detach()[[93, 101]]  # खाट, कुकुरले
    feet = [math.hypot(*dot.center) for dot in found(picture, patches.Circle)]
    shadows = torch.tensor(feet) * heads.norm(dim=1)
    scale = shadows / torch.tensor(scores[::3])
    assert_close(scale[0], scale[1], rtol=0.01, atol=0)
    with pytest.raises(ValueError, match="EOS. stays"):
        stream_turns(seen, EXAMPLE, at=1, place=5)
