"""A choice is a known name, or a part of the reader's own."""

import dataclasses
from dataclasses import replace
from functools import partial

import pytest
from torch import nn

from tests.helpers.small import build, score, small, words
from tformer_lite import (
    Block,
    Config,
    CrossBlock,
    DecoderOnly,
    EncoderDecoder,
    LayerNorm,
    LearnedPositions,
    MultiHeadAttention,
    SinusoidalPositions,
    TokenEmbedding,
    rotate,
    sliding_mask,
    window_mask,
)
from tformer_lite.model.choices import PARTS
from tformer_lite.model.models import BLOCKS

CONFIG = small("paper_base", final_norm=True)
SRC, TGT = words(10, 2, 6), words(11, 2, 7)
FIELDS = dataclasses.fields(Config)
every_kind = pytest.mark.parametrize("kind", [EncoderDecoder, DecoderOnly])


@pytest.mark.parametrize("field", [*PARTS, "residual"])
def test_an_unknown_choice_lists_the_known(field):
    names = ", ".join((PARTS | {"residual": BLOCKS})[field])
    match = f"^{field}='round' is unknown: choose one of {names}, or give"
    with pytest.raises(ValueError, match=match):
        EncoderDecoder(replace(CONFIG, **{field: "round"}))


@pytest.mark.slow
@pytest.mark.parametrize("field", PARTS)
def test_every_known_name_is_used(field):
    for name, part in PARTS[field].items():
        if name == "bert":
            continue
        model = EncoderDecoder(replace(CONFIG, **{field: name}))
        parts = [type(module) for module in model.modules()]
        parts += [getattr(m, "activation", None) for m in model.modules()]
        assert part in parts, name


SIZES = [f.name for f in FIELDS if f.type in (int, int | None)]
SIZES.remove("pad")


@pytest.mark.parametrize("field", SIZES)
def test_a_size_below_one_is_refused_by_name(field):
    for size in (0, -1, True, 1.5):
        with pytest.raises(ValueError, match=f"^{field}={size}: every size"):
            replace(CONFIG, **{field: size})
    with pytest.raises(ValueError, match="^bias='no': give True or False"):
        replace(CONFIG, bias="no")
    assert getattr(replace(CONFIG, **{field: 1}), field) == 1


def modules_of(model: nn.Module, part: type) -> int:
    """How many modules of a model are exactly of this class."""
    return sum(type(module) is part for module in model.modules())


class MyNorm(LayerNorm): ...


class MyAttention(MultiHeadAttention): ...


class MyBlock(Block):
    """Forget the input."""

    def forward(self, x, mask=None):
        return self.self_attention(x, mask=mask)


class MyCrossBlock(CrossBlock):
    """Forget the input, and read the memory."""

    def forward(self, x, memory, mask=None, memory_mask=None):
        return self.cross_attention(x, memory, memory_mask)


NORM = {"norm": MyNorm, "residual": "pre"}
BOTH = {"attention": MyAttention}
PAIR = {"residual": (MyBlock, MyCrossBlock)}
# A choice, a part, and how many of it a translator and a writer have. Norms:
# two in an encoder's block, three in a decoder's; one after each stack.
OWN = [
    (NORM, MyNorm, 2 * (2 + 3) + 2, 2 * 2 + 1),
    (NORM | {"final_norm": False}, MyNorm, 2 * (2 + 3), 2 * 2),
    (NORM, nn.LayerNorm, 0, 0),
    (BOTH, MyAttention, 2 + 2 * 2, 2),
    (BOTH | {"cross_attention": "fused"}, MyAttention, 2 + 2, 2),
    ({"cross_attention": MyAttention}, MyAttention, 2, 0),
    (PAIR, MyBlock, 2, 2),
    (PAIR, MyCrossBlock, 2, 0),
]


@pytest.mark.parametrize(("choices", "part", "number", "alone"), OWN)
def test_a_part_of_ones_own_is_used_in_every_place(
    choices, part, number, alone
):
    model = build(EncoderDecoder, replace(CONFIG, **choices))
    assert modules_of(model, part) == number
    assert modules_of(DecoderOnly(model.config), part) == alone
    assert model(SRC, TGT).shape == (2, 7, 11)


def test_an_activation_of_ones_own_bends_every_hidden_layer():
    calls = []
    config = replace(CONFIG, activation=lambda x: calls.append(x) or x.sin())
    build(EncoderDecoder, config)(SRC, TGT)
    assert [x.shape for x in calls] == [(2, 6, 24)] * 2 + [(2, 7, 24)] * 2


@every_kind
def test_a_mask_of_ones_own_rules_the_decoder(kind):
    mask = partial(sliding_mask, width=2)
    model = build(kind, replace(CONFIG, n_layers=1, mask=mask))
    far, near = TGT.clone(), TGT.clone()
    far[:, 4], near[:, 5] = 0, 0
    logits = score(model, SRC, TGT)[:, 6]
    assert score(model, SRC, far)[:, 6].allclose(logits, rtol=0, atol=1e-12)
    assert not score(model, SRC, near)[:, 6].isclose(logits).any()
    # A band looks ahead as well.
    ahead = replace(CONFIG, n_layers=1, mask=lambda t, d: window_mask(t, 2, d))
    model = build(kind, ahead)
    changed = score(model, SRC, near)[:, 4] - score(model, SRC, TGT)[:, 4]
    assert (changed != 0).all()


class MyEmbedding(TokenEmbedding): ...


class MyPositions(SinusoidalPositions): ...


def test_embedding_and_positions_of_ones_own_serve_both_sides_or_one():
    shared = {"embedding": MyEmbedding, "positions": MyPositions}
    source = {f"src_{kind}": part for kind, part in shared.items()}
    theirs = TokenEmbedding, LearnedPositions
    for choices, target in (
        (shared, (MyEmbedding, MyPositions)),
        (source | {"positions": "learned"}, theirs),
    ):
        model = EncoderDecoder(replace(CONFIG, **choices))
        sides = model.src_embedding, model.tgt_embedding
        kinds = [(type(s.tokens), type(s.positions)) for s in sides]
        assert kinds == [(MyEmbedding, MyPositions), target]
        assert [side.tokens.num_embeddings for side in sides] == [10, 11]


@every_kind
def test_tied_weights_are_one(kind):
    model = kind(replace(CONFIG, tied=True))
    words = getattr(model, "tgt_embedding", None) or model.embedding
    assert model.head.weight is words.tokens.weight


def test_a_mask_and_a_window_are_one_too_many():
    with pytest.raises(ValueError, match="window=3 and a mask of your own"):
        EncoderDecoder(replace(CONFIG, window=3, mask=window_mask))


def test_the_source_is_turned_as_its_own_positions_say():
    for src, tgt in (("rotary", "learned"), ("none", "rotary")):
        config = replace(CONFIG, src_positions=src, positions=tgt)
        model = EncoderDecoder(replace(config, attention="split"))
        for stack, said in ((model.encoder, src), (model.decoder, tgt)):
            turns = stack.blocks[0].self_attention.place is rotate
            assert turns is (said == "rotary")
