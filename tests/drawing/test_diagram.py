"""Where we are: shapes are the trace's, one part is lit, and nothing is drawn
that a model does not have."""

import re
from functools import cache

import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.patches import Patch

from tests.helpers.drawings import letter_faults, texts
from tests.helpers.small import small
from tests.helpers.translators import DIMS, translator
from tformer_lite import (
    DecoderOnly,
    EncoderDecoder,
    PostBlock,
    PostCrossBlock,
    Stack,
    char_lm,
    trace,
    where,
)
from tformer_lite.drawing.diagram.here import PLACES_HERE
from tformer_lite.drawing.surface.palette import HIGHLIGHT
from tformer_lite.drawing.surface.picture import Picture

IDS = torch.ones(1, 4, dtype=torch.long)
SIZES = {"B": 4, "S": 7, "T": 5, "H": 2, "D": 8, "C": "H*D"}


def paper(B, S, T, H, D):
    """The paper's model: norms after the sums, fused projections."""
    sizes = {"d_model": H * D, "n_heads": H, "max_len": 128}
    config = small("paper_base", cross_attention="fused", **sizes)
    ids = [torch.randint(2, 9, (B, n)) for n in (S, T)]
    return EncoderDecoder(config).eval(), ids


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
    picture = where(seen, "cross_attention")
    drawn = written_shapes(picture)
    assert drawn == [str(shape) for shape in (lit_here, head, (b, s, c))]
    small, broad = picture.svg().split(' display="none"')
    assert ("att." in small, "attention" in broad) == (True, True)


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
