"""Where we are: shapes are the trace's, one part is lit, and nothing is drawn
that a model does not have."""

import pytest
import torch
from pictures.poster import poster
from pictures.thumbs import thumbs_of

from tests.helpers.colours import contrast, rgb
from tests.helpers.diagrams import (
    OneCall,
    Reader,
    lit,
    traced,
    written_shapes,
)
from tests.helpers.drawings import letter_faults, texts
from tests.helpers.small import small
from tests.helpers.translators import DIMS
from tformer_lite import (
    EncoderDecoder,
    MultiHeadAttention,
    PostBlock,
    PostCrossBlock,
    Stack,
    char_lm,
    overview,
    rotate,
    running_trace,
    trace,
    where,
)
from tformer_lite.drawing.diagram.anatomy import sides_of
from tformer_lite.drawing.diagram.here import PLACES_HERE
from tformer_lite.drawing.surface.palette import (
    AXES,
    HIGHLIGHT,
    INK,
    PAPER,
    SHARE,
)

IDS = torch.ones(1, 4, dtype=torch.long)


@pytest.fixture
def seen():
    return traced("tiny")


# --- shapes --------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny", "sizes", "paper"])
def test_the_map_has_a_shape_wherever_it_changes(name):
    seen = traced(name)
    b, s, t, c = (seen.sizes[0][key] for key in "BSTC")
    h, d, v = seen.sizes[0]["H"], seen.sizes[0]["D"], seen.result.shape[-1]
    fused = (b, s, 3 * c) if name == "paper" else (b, s, c)
    expected = [(b, s), (b, s, c), (b, t), (b, t, c), (b, t, v), (b, s, c)]
    line = [(b, s, c), fused, (b, h, s, d), *[(b, h, s, s)] * 3]
    line += [(b, h, s, d), (b, s, c), (b, s, c)]
    drawn = written_shapes(overview(seen))
    assert drawn == [str(shape) for shape in expected + line]


@pytest.mark.slow
def test_inside_an_attention_letters_are_those_of_its_sequence(seen):
    text = overview(seen).text
    for gives in (
        "x (B, S, C) = (2, 8, 12)",
        "split (B, H, S, D) = (2, 3, 8, 4)",
        "scores (B, H, S, S) = (2, 3, 8, 8)",
        "join (B, S, C) = (2, 8, 12)",
    ):
        assert gives in text
    first = where(traced("writer"), "scores").text.splitlines()[0]
    assert first.endswith("It gives (B, H, T, T) = (3, 2, 6, 6).")


def test_fused_projections_are_drawn_as_they_ran():
    text = where(traced("paper"), "projections").text
    assert "It gives (B, S, 3C) = (4, 7, 48)." in text


def test_shapes_that_the_run_does_not_have_are_left_out():
    one_call = {"attention": OneCall, "cross_attention": "fused"}
    model = EncoderDecoder(small("paper_base", **one_call))
    picture = where(trace(model, IDS, IDS), "softmax")
    assert "It gives" not in picture.text
    assert "→ scores → mask → [softmax] → @ v →" in picture.text
    assert len(written_shapes(picture)) == 6


@pytest.mark.slow
def test_names_that_are_not_proved_show_it():
    picture = where(traced("unproved"), "scores")
    assert {"B~", "8?", "C~"} <= set(texts(picture.svg()))
    assert "(B~, H~, 8?, 8?) = (2, 3, 8, 8)" in picture.text


# --- where we are --------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("part", PLACES_HERE)
@pytest.mark.parametrize("name", ["tiny", "paper"])
def test_each_part_is_lit_and_its_letters_are_apart(name, part):
    picture = where(traced(name), part)
    assert len(lit(picture)) == (2 if part == "model" else 1)
    whole = part in ("encoder", "decoder", "model")
    assert picture.text.count("[") == (0 if whole else 1)
    assert picture.text.startswith("You are here: ")
    assert letter_faults(picture) == []
    assert sum(72 * x.get_figheight() for x in picture.figures) <= 180


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny", "large", "writer", "unproved"])
def test_long_sizes_and_names_have_the_room_they_need(name):
    for picture in overview(traced(name)), where(traced(name), "mask"):
        assert letter_faults(picture) == []


@pytest.mark.parametrize("theme", [0, 1])
def test_text_can_be_read_on_every_ground(theme):
    for ground in PAPER, HIGHLIGHT:
        for _, ink in [("", INK), *AXES.values()]:
            assert contrast(rgb(ink[theme]), rgb(ground[theme])) >= 4.5


@pytest.mark.slow
def test_parts_stand_in_the_order_in_which_they_ran(seen):
    pre, post = (where(traced(n), "norm").text for n in ("tiny", "paper"))
    attention = "embed → positions → self-attention → + →"
    assert f"{attention} feed-forward → + → [norm]\n" in pre
    assert f"{attention} cross-attention → + → feed-forward → +" in post
    assert "encoder × 1: ids" in pre
    assert "encoder × 2: ids" in post
    assert "encoder × 2" in texts(where(traced("paper"), "norm").svg())


def test_the_text_is_short_and_the_stop_is_large(seen):
    picture = where(seen, "softmax")
    texts = [text for f in picture.figures for text in f.axes[0].texts]
    assert [x.get_text() for x in texts if x.get_size() > 12] == ["softmax"]
    assert picture.text == (
        "You are here: softmax, inside the encoder's self-attention. It "
        "gives (B, H, S, S) = (2, 3, 8, 8).\n\n"
        "x → q k v → split → scores → mask → [softmax] → @ v → join → output"
    )


# --- other models --------------------------------------------------------


@pytest.mark.slow
def test_a_model_that_only_writes_has_no_encoder_on_its_map(seen):
    assert {"encoder", "memory", "head"} <= {*texts(overview(seen).svg())}
    seen = traced("writer")
    for picture in overview(seen), where(seen, "head"):
        words = texts(picture.svg())
        assert "decoder × 2" in words
        assert not {"encoder", "memory", "cross-att."} & {*words}
        assert "encoder" not in picture.text
    with pytest.raises(ValueError, match="no encoder: it has ids, .*model"):
        where(seen, "encoder")


@pytest.mark.slow
def test_a_model_that_only_reads_has_no_decoder_on_its_map():
    seen = trace(Reader(small("tiny_translator")), IDS)
    words = texts(overview(seen).svg())
    assert {"encoder × 2", "head", "mask"} <= {*words}
    assert not {"decoder", "memory", "cross-att."} & {*words}


@pytest.mark.full
@pytest.mark.parametrize(
    ("part", "inputs"),
    [
        (PostBlock(char_lm), 1),
        (PostCrossBlock(char_lm), 2),
        (Stack(char_lm, PostBlock), 1),
        (MultiHeadAttention(128, 4), 1),
        (MultiHeadAttention(128, 4, n_kv_heads=2, place=rotate), 1),
    ],
)
def test_a_part_alone_is_drawn_with_what_it_has(part, inputs):
    seen = trace(part, *torch.randn(inputs, 1, 5, 128))
    words = texts(overview(seen).svg())
    assert {"scores", "softmax", "join"} <= {*words}
    assert not {"mask", "memory", "head", "ids"} & {*words}
    assert where(seen, "heads").text.count("[") == 1
    with pytest.raises(ValueError, match="this model has no mask"):
        where(seen, "mask")


@pytest.mark.slow
def test_what_is_not_there_is_refused(seen):
    with pytest.raises(ValueError, match="'atention': known are ids.*model"):
        where(seen, "atention")
    with pytest.raises(ValueError, match="no attention: trace a Transformer"):
        where(trace(torch.nn.Linear(4, 4), torch.ones(2, 4)), "head")
    model = EncoderDecoder(small("tiny_translator", positions="none"))
    bare = trace(model, IDS, IDS, dims=DIMS)
    assert where(bare, "embedding").text
    with pytest.raises(ValueError, match="this model has no positions"):
        where(bare, "positions")


# --- the poster ----------------------------------------------------------


@pytest.fixture(scope="module")
def running():
    return running_trace()


@pytest.mark.full
def test_the_costs_on_the_poster_add_up_to_those_of_the_model(running):
    thumbs = [t for s in sides_of(running) for t in thumbs_of(running, s)]
    whole = running.flops()[""]
    counted = sum(thumb.cost for thumb in thumbs).tolist()
    assert counted == [whole.parameters, whole.flops]


@pytest.mark.slow
def test_the_poster_shows_the_tensors_of_the_run(running):
    thumbs = [t for s in sides_of(running) for t in thumbs_of(running, s)]
    attentions = running.attention()
    weights = [thumb for thumb in thumbs if thumb.kind is SHARE]
    assert len(weights) == len(attentions) == 3
    for thumb, found in zip(weights, attentions):
        for drawn, head in zip(thumb.matrices, found.weights[0]):
            shown = ~drawn.isneginf()
            assert drawn[shown].equal(head[shown])
            assert not head[~shown].any()
    assert thumbs[-1].matrices[0].equal(running.result[0])


@pytest.mark.full
@pytest.mark.parametrize("name", ["running", "writer"])
def test_the_letters_of_the_poster_are_apart(running, name):
    kept = running if name == "running" else traced("kept writer")
    picture = poster(kept, ["longest_words"] * 8)
    faults = letter_faults(picture)
    assert [f for f in faults if "overlaps" in f or "leaves" in f] == []
    faces, _ = picture._repr_mimebundle_()
    assert list(faces) == ["text/plain", "image/png"]
