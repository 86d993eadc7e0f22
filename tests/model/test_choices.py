"""A choice is a known name, or a part of the reader's own."""

import dataclasses
from dataclasses import replace
from functools import partial

import pytest
import torch
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
    gelu,
    gelu_tanh,
    sliding_mask,
    window_mask,
)
from tformer_lite.model.choices import PARTS

CONFIG = small("paper_base", final_norm=True)
SRC, TGT = words(10, 2, 6), words(11, 2, 7)
CHOICES = [*PARTS]


def test_every_choice_has_known_names():
    fields = {
        field.name
        for field in dataclasses.fields(Config)
        if "Callable" in str(field.type)
    }
    assert fields - {"mask"} == {*PARTS}
    assert len(CHOICES) == 9


def test_an_unknown_residual_lists_the_known():
    match = "^residual='round' is unknown: choose one of pre, post, or give"
    with pytest.raises(ValueError, match=match):
        EncoderDecoder(replace(CONFIG, residual="round"))


@pytest.mark.parametrize("field", CHOICES)
def test_an_unknown_choice_lists_the_known(field):
    known = ", ".join(PARTS[field])
    match = f"^{field}='round' is unknown: choose one of {known}, or give"
    with pytest.raises(ValueError, match=match):
        EncoderDecoder(replace(CONFIG, **{field: "round"}))


@pytest.mark.slow
@pytest.mark.parametrize("field", CHOICES)
def test_every_known_name_is_used(field):
    for name, part in PARTS[field].items():
        if name == "bert":
            continue
        model = EncoderDecoder(replace(CONFIG, **{field: name}))
        found = [type(module) for module in model.modules()]
        found += [getattr(m, "activation", None) for m in model.modules()]
        assert part in found, name


@pytest.mark.parametrize(
    ("field", "name", "part"),
    [
        ("norm", "layer", LayerNorm),
        ("activation", "gelu", gelu),
        ("activation", "gelu_tanh", gelu_tanh),
    ],
)
def test_pytorchs_part_is_the_one_that_is_written_out(field, name, part):
    mine, theirs = (
        build(EncoderDecoder, replace(CONFIG, **{field: choice}))
        for choice in (part, name)
    )
    assert PARTS[field][name] is not part
    torch.testing.assert_close(mine(SRC, TGT), theirs(SRC, TGT))


def test_a_config_is_frozen_and_named():
    with pytest.raises(dataclasses.FrozenInstanceError, match="d_model"):
        CONFIG.d_model = 24
    with pytest.raises(TypeError, match="positional"):
        Config(11, 8)
    with pytest.raises(TypeError, match="n_head"):
        Config(vocab_size=11, max_len=8, n_head=3)
    assert replace(CONFIG, d_model=24).d_model == 24


SIZES = [
    field.name
    for field in dataclasses.fields(Config)
    if field.type in (int, int | None) and field.name != "pad"
]


@pytest.mark.parametrize("field", SIZES)
def test_a_size_below_one_is_refused_by_name(field):
    for size in (0, -1):
        with pytest.raises(ValueError, match=f"^{field}={size}: every size"):
            replace(CONFIG, **{field: size})
    assert getattr(replace(CONFIG, **{field: 1}), field) == 1


def counted(model: nn.Module, part: type) -> int:
    """How many modules of a model are exactly of this class."""
    return sum(type(module) is part for module in model.modules())


class MyNorm(LayerNorm):
    """Half of the norm."""

    def forward(self, x):
        return super().forward(x) / 2


@pytest.mark.parametrize("residual", ["pre", "post"])
def test_a_norm_of_ones_own_is_used_in_every_place(residual):
    config = replace(CONFIG, norm=MyNorm, residual=residual)
    # Two around an encoder's block, three around a decoder's; two layers;
    # one after each stack.
    assert counted(EncoderDecoder(config), MyNorm) == 2 * (2 + 3) + 2
    assert counted(EncoderDecoder(config), LayerNorm) == 0
    assert counted(DecoderOnly(config), MyNorm) == 2 * 2 + 1
    config = replace(config, final_norm=False)
    assert counted(EncoderDecoder(config), MyNorm) == 2 * (2 + 3)
    assert (
        counted(EncoderDecoder(replace(CONFIG, norm=nn.LayerNorm)), MyNorm)
        == 0
    )


def test_pytorchs_norm_can_be_dropped_in():
    mine = build(EncoderDecoder, CONFIG)
    theirs = build(EncoderDecoder, replace(CONFIG, norm=nn.LayerNorm))
    assert counted(theirs, nn.LayerNorm) == 12
    torch.testing.assert_close(mine(SRC, TGT), theirs(SRC, TGT))


def test_an_activation_of_ones_own_bends_every_hidden_layer():
    calls = []
    config = replace(CONFIG, activation=lambda x: calls.append(x) or x.sin())
    build(EncoderDecoder, config)(SRC, TGT)
    assert [x.shape for x in calls] == [(2, 6, 24)] * 2 + [(2, 7, 24)] * 2


class MyAttention(MultiHeadAttention):
    """Attention that looks the other way."""

    def forward(self, x, source=None, mask=None):
        return -super().forward(x, source, mask)


def test_attention_of_ones_own_serves_both_kinds_or_one():
    config = replace(CONFIG, attention=MyAttention)
    model = build(EncoderDecoder, config)
    assert counted(model, MyAttention) == 2 + 2 * 2
    plain = build(EncoderDecoder, replace(CONFIG, attention="split"))
    assert not model(SRC, TGT).isclose(plain(SRC, TGT)).any()
    model = EncoderDecoder(replace(config, cross_attention="fused"))
    assert counted(model, MyAttention) == 2 + 2
    model = EncoderDecoder(replace(CONFIG, cross_attention=MyAttention))
    assert counted(model, MyAttention) == 2


@pytest.mark.parametrize("kind", [EncoderDecoder, DecoderOnly])
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


class MyEmbedding(TokenEmbedding):
    """Embed as usual."""


class MyPositions(SinusoidalPositions):
    """Count as usual."""


def test_embedding_and_positions_of_ones_own_serve_both_sides_or_one():
    own = {"embedding": MyEmbedding, "positions": MyPositions}
    model = EncoderDecoder(replace(CONFIG, **own))
    sides = model.src_embedding, model.tgt_embedding
    assert [type(side.tokens) for side in sides] == [MyEmbedding] * 2
    assert [type(side.positions) for side in sides] == [MyPositions] * 2
    assert [side.tokens.num_embeddings for side in sides] == [10, 11]
    one = {f"src_{kind}": part for kind, part in own.items()}
    model = EncoderDecoder(replace(CONFIG, **one, positions="learned"))
    assert type(model.src_embedding.tokens) is MyEmbedding
    assert type(model.tgt_embedding.tokens) is not MyEmbedding
    assert type(model.src_embedding.positions) is MyPositions
    assert type(model.tgt_embedding.positions) is LearnedPositions


class MyBlock(Block):
    """Forget the input."""

    def forward(self, x, mask=None):
        return self.self_attention(x, mask=mask)


class MyCrossBlock(CrossBlock):
    """Forget the input, and read the memory."""

    def forward(self, x, memory, mask=None, memory_mask=None):
        return self.cross_attention(x, memory, memory_mask)


def test_blocks_of_ones_own_come_in_pairs():
    config = replace(CONFIG, residual=(MyBlock, MyCrossBlock), norm=MyNorm)
    model = build(EncoderDecoder, config)
    assert counted(model, MyBlock) == counted(model, MyCrossBlock) == 2
    assert counted(model, MyNorm) == 2 * 2 + 2 * 3 + 2
    assert counted(DecoderOnly(config), MyBlock) == 2
    assert model(SRC, TGT).shape == (2, 7, 11)


@pytest.mark.parametrize("kind", [EncoderDecoder, DecoderOnly])
def test_tied_weights_are_one_and_learn_from_both_sides(kind):
    model = kind(replace(CONFIG, tied=True))
    table = [p for n, p in model.named_parameters() if "tgt_embed" in n]
    table = (table or [model.get_parameter("head.weight")])[0]
    assert model.head.weight is table
    untied = sum(x.numel() for x in kind(CONFIG).parameters())
    tied = sum(x.numel() for x in model.parameters())
    assert untied - tied == CONFIG.vocab_size * CONFIG.d_model
