"""Where we are: shapes are the trace's, one part is lit, and nothing is drawn
that a model does not have."""

import re
from functools import cache

import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.patches import Patch
from pictures.poster import poster
from pictures.thumbs import thumbs_of
from torch.nn.functional import scaled_dot_product_attention

from tests.helpers.drawings import letter_faults, texts
from tests.helpers.small import small
from tests.helpers.translators import DIMS, translator
from tformer_lite import (
    DecoderOnly,
    EncoderDecoder,
    FusedAttention,
    PostBlock,
    PostCrossBlock,
    Stack,
    char_lm,
    join_heads,
    running_trace,
    split_heads,
    trace,
    where,
)
from tformer_lite.drawing.diagram.anatomy import sides_of, stops_of
from tformer_lite.drawing.diagram.here import PLACES_HERE, measured_shape
from tformer_lite.drawing.surface.palette import HIGHLIGHT, SHARE
from tformer_lite.drawing.surface.picture import Picture

IDS = torch.ones(1, 4, dtype=torch.long)
SIZES = {"B": 4, "S": 7, "T": 5, "H": 2, "D": 8, "C": "H*D"}


def paper(B, S, T, H, D):
    """The paper's model: norms after the sums, fused projections."""
    sizes = {"d_model": H * D, "n_heads": H, "max_len": 128}
    config = small("paper_base", cross_attention="fused", **sizes)
    ids = [torch.randint(2, 9, (B, n)) for n in (S, T)]
    return EncoderDecoder(config).eval(), ids


class OneCall(FusedAttention):
    """Attention that PyTorch does in one call."""

    def forward(self, x, mask=None):
        heads = split_heads(self.qkv(x), self.n_heads).chunk(3, dim=-1)
        mixed = scaled_dot_product_attention(*heads, attn_mask=mask)
        return self.output(join_heads(mixed))


@cache
def traced(name: str):
    """Three models, and names not proved."""
    if name == "unproved":
        model, ids = translator(2, 8, 8, 3, 4)
        return trace(model, *ids, dims=DIMS)
    build, dims = {
        "tiny": (translator, DIMS),
        "paper": (paper, SIZES),
        "writer": (decoder_only, {"B": 3, "T": 6, "H": 2, "D": 8, "C": "H*D"}),
    }[name]
    return trace(build=build, dims=dims)


def decoder_only(B, T, H, D):
    """A model that only writes, and ids for it."""
    config = small("char_lm", d_model=H * D, n_heads=H, max_len=T)
    return DecoderOnly(config).eval(), [torch.randint(2, 9, (B, T))]


def lit(picture: Picture) -> list[Patch]:
    """The boxes in the colour of where we are."""
    return [
        patch
        for figure in picture.figures
        for patch in figure.axes[0].patches
        if patch.get_linewidth() == 2
        and to_hex(patch.get_facecolor()) == HIGHLIGHT[0]
    ]


def written_shapes(picture: Picture) -> list[str]:
    """The shapes in a drawing, put together from their columns."""
    texts = [x.get_text() for f in picture.figures for x in f.axes[0].texts]
    sizes = [text for text in texts if re.fullmatch(r"\(?\d+[,)]", text)]
    return re.findall(r"\([\d, ]+\)", " ".join(sizes))


def stops(seen, path: str = "encoder.blocks.0.self_attention") -> dict:
    """The shapes on the way through an attention, by the stops' labels."""
    return {x.label: measured_shape(x.shape) for x in stops_of(seen, path)}


@pytest.fixture
def seen():
    return traced("tiny")


# --- shapes --------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny", "paper"])
def test_the_strip_has_the_shapes_of_what_is_lit_of_memory_and_the_head(name):
    seen = traced(name)
    b, s, t, c = (seen.sizes[0][key] for key in "BSTC")
    lit_here, head = (b, t, c), (b, t, seen.result.shape[-1])
    drawn = written_shapes(where(seen, "cross_attention"))
    assert drawn == [str(shape) for shape in (lit_here, head, (b, s, c))]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny", "paper"])
def test_the_stops_in_an_attention_have_the_shapes_that_they_give(name):
    seen = traced(name)
    b, s, c, h, d = (seen.sizes[0][key] for key in "BSCHD")
    fused = (b, s, 3 * c) if name == "paper" else (b, s, c)
    line = [(b, s, c), fused, (b, h, s, d), *[(b, h, s, s)] * 3]
    line += [(b, h, s, d), (b, s, c), (b, s, c)]
    found = [text.split(" = ")[1] for text in stops(seen).values()]
    assert found == list(map(str, line))


@pytest.mark.slow
def test_inside_an_attention_letters_are_those_of_its_sequence(seen):
    assert stops(seen)["scores"] == "(B, H, S, S) = (2, 3, 8, 8)"
    writing = stops(traced("writer"), "decoder.blocks.0.self_attention")
    assert writing["scores"] == "(B, H, T, T) = (3, 2, 6, 6)"
    assert stops(traced("paper"))["q k v"] == "(B, S, 3C) = (4, 7, 48)"


def test_shapes_that_the_run_does_not_have_are_left_out():
    one_call = {"attention": OneCall, "cross_attention": "fused"}
    model = EncoderDecoder(small("paper_base", **one_call))
    found = stops(trace(model, IDS, IDS))
    assert [found[name] for name in ("mask", "softmax")] == ["() = ()"] * 2
    assert (
        " ".join(found) == "x q k v split scores mask softmax @ v join output"
    )


@pytest.mark.slow
def test_names_that_are_not_proved_show_it():
    picture = where(traced("unproved"), "self_attention")
    assert {"B~", "8?", "C~"} <= set(texts(picture.svg()))
    assert "(B~, 8?, C~) = (2, 8, 12)" in picture.text


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
@pytest.mark.parametrize("name", ["tiny", "writer", "unproved"])
def test_long_sizes_and_names_have_the_room_they_need(name):
    assert letter_faults(where(traced(name), "self_attention")) == []


@pytest.mark.slow
def test_parts_stand_in_the_order_in_which_they_ran(seen):
    pre, post = (where(traced(n), "norm").text for n in ("tiny", "paper"))
    attention = "embed → positions → self-attention → + →"
    assert f"{attention} feed-forward → + → [norm]\n" in pre
    assert f"{attention} cross-attention → + → feed-forward → +" in post
    assert "encoder × 1: ids" in pre
    assert "encoder × 2: ids" in post
    assert "encoder × 2" in texts(where(traced("paper"), "norm").svg())


# --- other models --------------------------------------------------------


@pytest.mark.slow
def test_a_model_that_only_writes_has_no_encoder_on_its_map(seen):
    words = {*texts(where(seen, "head").svg())}
    assert {"encoder", "memory", "head"} <= words
    picture = where(traced("writer"), "head")
    words = {*texts(picture.svg())}
    assert "decoder × 2" in words
    assert not {"encoder", "memory", "cross-", "att."} & words - {"att."}
    assert "encoder" not in picture.text
    with pytest.raises(ValueError, match="no encoder: it has ids, .*model"):
        where(traced("writer"), "encoder")


@pytest.mark.full
@pytest.mark.parametrize(
    ("part", "inputs"),
    [(PostCrossBlock(char_lm), 2), (Stack(char_lm, PostBlock), 1)],
)
def test_a_part_alone_is_drawn_with_what_it_has(part, inputs):
    seen = trace(part, *torch.randn(inputs, 1, 5, 128))
    picture = where(seen, "self_attention")
    assert picture.text.count("[") == 1
    assert not {"memory", "head", "ids"} & {*texts(picture.svg())}
    with pytest.raises(ValueError, match="this model has no head"):
        where(seen, "head")


@pytest.mark.slow
def test_what_is_not_there_is_refused(seen):
    with pytest.raises(ValueError, match="'atention': known are ids.*model"):
        where(seen, "atention")
    with pytest.raises(ValueError, match="no block with attention: trace a T"):
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
def test_the_letters_of_the_poster_are_apart(running):
    picture = poster(running, ["longest_words"] * 8)
    faults = letter_faults(picture)
    assert [f for f in faults if "overlaps" in f or "leaves" in f] == []
    faces, _ = picture._repr_mimebundle_()
    assert list(faces) == ["text/plain", "image/png"]
