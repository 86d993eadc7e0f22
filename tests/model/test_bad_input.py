"""Bad input gets an error that names the values and the rule."""

import pytest
import torch

from tests.helpers.small import NAMES, build, kind_of, small, words
from tformer_lite import (
    DecoderOnly,
    EncoderDecoder,
    FusedAttention,
    FusedCrossAttention,
    MultiHeadAttention,
    TokenEmbedding,
    dot_product_attention,
    join_heads,
    padding_mask,
    share_heads,
    split_heads,
)

CONFIG = small("paper_base")  # 10 source ids, 11 target ids, 8 positions
SRC, TGT = words(10, 2, 3), words(11, 2, 4)
B, H, T, S, D = 2, 3, 5, 6, 4


@pytest.fixture(scope="module")
def coder():
    return build(EncoderDecoder, CONFIG)


@pytest.fixture(scope="module")
def writer():
    return build(DecoderOnly, CONFIG)


@pytest.mark.parametrize("n_heads", [5, 0, -3, 13])
@pytest.mark.parametrize(
    "part", [MultiHeadAttention, FusedAttention, FusedCrossAttention]
)
def test_heads_that_do_not_divide_the_channels_are_named(part, n_heads):
    words = f"d_model=12 is not divisible by n_heads={n_heads}: .* divides"
    with pytest.raises(ValueError, match=words):
        part(12, n_heads)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_whose_heads_do_not_divide_is_not_built(name):
    with pytest.raises(ValueError, match="d_model=12 .* n_heads=7"):
        kind_of(name)(small(name, n_heads=7))


def with_one(ids: torch.Tensor, bad: int) -> torch.Tensor:
    """The ids with one of them replaced."""
    ids = ids.clone()
    ids[1, 2] = bad
    return ids


@pytest.mark.parametrize("bad", [-1, 11, 10**6])
def test_an_id_outside_the_vocabulary_is_named_with_the_rule(
    coder, writer, bad
):
    rule = "is outside the vocabulary: ids run from 0 to"
    with pytest.raises(ValueError, match=f"^id {bad} {rule} 10.$"):
        coder(SRC, with_one(TGT, bad))
    with pytest.raises(ValueError, match=f"^id {bad} {rule} 10.$"):
        writer(with_one(TGT, bad))
    with pytest.raises(ValueError, match=f"^id {bad} {rule} 9.$"):
        coder(with_one(SRC, bad), TGT)


def test_each_side_has_its_own_vocabulary(coder):
    with pytest.raises(ValueError, match="id 10 .* from 0 to 9"):
        coder(with_one(SRC, 10), TGT)
    assert coder(SRC, with_one(TGT, 10)).shape == (2, 4, 11)


def test_a_sequence_that_is_too_long_names_both_numbers(coder, writer):
    names = "9 positions is longer than max_len=8: .* a larger max_len"
    with pytest.raises(ValueError, match=names):
        coder(words(10, 2, 9), TGT)
    with pytest.raises(ValueError, match=names):
        coder(SRC, words(11, 2, 9))
    with pytest.raises(ValueError, match=names):
        writer(words(11, 2, 9))
    assert coder(words(10, 2, 8), words(11, 2, 8)).shape == (2, 8, 11)


@pytest.mark.parametrize(
    ("ids", "error", "match"),
    [
        (SRC.float(), TypeError, "float32: make them whole, ids.long"),
        (SRC == 1, TypeError, "ids are torch.bool"),
        (SRC[..., None], ValueError, r"\(2, 3, 1\), not \(B, T\)"),
        (SRC[:, :0], ValueError, r"\(2, 0\), not \(B, T\): .* at least one"),
    ],
)
def test_ids_that_are_no_rows_of_whole_numbers_are_refused(
    coder, writer, ids, error, match
):
    for call in (
        lambda: coder(ids, TGT),
        lambda: coder(SRC, ids),
        lambda: writer(ids),
        lambda: TokenEmbedding(11, 4)(ids),
        lambda: padding_mask(ids, pad=1),
    ):
        with pytest.raises(error, match=match):
            call()


def test_a_single_row_is_told_how_to_become_a_batch(coder, writer):
    match = r"shape \(4,\), not \(B, T\): .* becomes a batch with ids\[None\]"
    with pytest.raises(ValueError, match=match):
        writer(TGT[0])
    for src, tgt in ((SRC, TGT[0]), (SRC, TGT[0, :2]), (TGT[0], TGT)):
        with pytest.raises(ValueError, match=match.replace("4", r"\d")):
            coder(src, tgt)
    with pytest.raises(ValueError, match=r"shape \(3,\), not \(B, T\)"):
        coder.decode(TGT, coder.encode(SRC), SRC[0])
    with pytest.raises(ValueError, match=r"shape \(0, 3\), not"):
        coder(SRC[:0], TGT[:0])
    assert writer(TGT[0][None]).shape == (1, 4, 11)


@pytest.mark.parametrize("pad", [-1, 10, 99])
def test_padding_that_is_no_id_of_both_sides_is_refused(pad):
    """`beam` and `greedy` fill rows with it, and sources are padded, too."""
    with pytest.raises(ValueError, match=f"pad={pad} .* 0 to 9. Give the C"):
        EncoderDecoder(small("paper_base", pad=pad))
    with pytest.raises(ValueError, match="pad=1 is outside .* 0 to 0"):
        EncoderDecoder(small("paper_base", src_vocab_size=1))
    assert DecoderOnly(small("paper_base", pad=pad))  # it pads nothing


def test_whole_numbers_of_half_the_size_are_ids_too(coder):
    assert coder(SRC.int(), TGT.int()).equal(coder(SRC, TGT))


def test_batches_that_differ_are_both_named(coder):
    with pytest.raises(ValueError, match="src has a batch of 2, tgt of 1"):
        coder(SRC, TGT[:1])
    with pytest.raises(ValueError, match=r"q \(2, 3, .* k \(1, 3, .* not fit"):
        coder.decode(TGT, coder.encode(SRC)[:1], SRC)
    with pytest.raises(ValueError, match=r"axis 3 .* S .* size 2, .* have 3"):
        coder.decode(TGT, coder.encode(SRC), SRC[:, :2])


def attend(shape: tuple, dtype: torch.dtype = torch.bool, b: int = B):
    """Attention with a mask of that shape."""
    q, k = torch.randn(b, H, T, D), torch.randn(b, H, S, D)
    return dot_product_attention(q, k, k, torch.ones(shape, dtype=dtype))


@pytest.mark.parametrize(
    ("shape", "match"),
    [
        ((3, 1, 1, S), r"axis 0 .* B \(the batch\), has size 3, .* have 2"),
        ((1, 2, 1, S), r"axis 1 .* H \(the heads\), has size 2, .* have 3"),
        ((1, 1, 4, S), r"axis 2 .* T \(the queries\), has size 4, .* have 5"),
        ((1, 1, 1, 5), r"axis 3 .* S \(the keys\), has size 5, .* have 6"),
        ((B, 1, T, 1), r"axis 3 .* S .* size 1, .* 6 .* hides keys"),
        ((1, 1, 1, 1), r"axis 3 .* S .* size 1, .* 6"),
        ((B, H, S, T), r"axis 2 .* T .* size 6, .* 5"),
        ((T, S), r"2 axes \(5, 6\), the scores have 4 \(2, 3, 5, 6\)"),
        ((B, 1, S), r"3 axes \(2, 1, 6\), .* every axis"),
        ((B, 1, 1, T, S), "5 axes"),
        ((), r"0 axes \(\)"),
    ],
)
def test_a_mask_that_does_not_fit_names_the_axis(shape, match):
    with pytest.raises(ValueError, match=match):
        attend(shape)


def test_a_mask_without_an_axis_is_refused_where_it_would_broadcast():
    with pytest.raises(ValueError, match="3 axes .* every axis"):
        attend((H, 1, S), b=H)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_a_mask_of_numbers_is_refused(dtype):
    with pytest.raises(TypeError, match=f"{dtype}, not .*bool.* mask != 0"):
        attend((B, 1, 1, S), dtype)


@pytest.mark.parametrize("shape", [(B, H, T, S), (1, 1, 1, S), (B, 1, T, S)])
def test_a_mask_with_every_axis_serves_all_where_its_size_is_one(shape):
    assert attend(shape).shape == (B, H, T, D)


@pytest.mark.parametrize(
    ("q", "k", "v"),
    [
        ((1, H, T, D), (B, H, S, D), (B, H, S, D)),
        ((B, H, T, D), (1, H, S, D), (1, H, S, D)),
        ((B, 1, T, D), (B, H, S, D), (B, H, S, D)),
        ((B, H, T, D), (B, 1, S, D), (B, 1, S, D)),
        ((B, H, T, D), (B, H, S, D), (B, 1, S, D)),
        ((B, H, T, D), (B, H, S, D), (1, H, S, D)),
        ((B, H, T, 1), (B, H, S, D), (B, H, S, D)),
        ((B, H, T, D), (B, H, S, D), (B, H, 1, D)),
        ((H, T, D), (B, H, S, D), (B, H, S, D)),
    ],
)
def test_queries_keys_and_values_are_never_broadcast(q, k, v):
    shapes = rf"q \({q[0]}, .* k \({k[0]}, .* v \({v[0]}, .* do not fit"
    with pytest.raises(ValueError, match=shapes):
        dot_product_attention(*map(torch.randn, (q, k, v)))


@pytest.mark.parametrize("mask", [None, torch.ones(B, 1, T, 0) > 0])
def test_queries_that_have_no_key_are_refused(mask):
    q, k = torch.randn(B, H, T, D), torch.randn(B, H, 0, D)
    with pytest.raises(ValueError, match=r"k \(2, 3, 0, 4\) has no key"):
        dot_product_attention(q, k, k, mask)
    assert dot_product_attention(k, q, q).shape == (B, H, 0, D)


@pytest.mark.parametrize("front", [(), (T,), (B, H, T), (1, B, H, T)])
def test_heads_are_split_from_three_axes_and_joined_from_four(front):
    """Of others, another axis would be taken for the positions."""
    x = torch.randn(*front, 12)
    named = rf"x has shape \(({front[0]}, .*)?12,?\), not" if front else "not"
    with pytest.raises(ValueError, match=rf"{named} \(B, T, C\): .* x\[None"):
        split_heads(x, H)
    more = x if len(front) != 3 else x[0]
    with pytest.raises(ValueError, match=r"not \(B, H, T, D\): .* x\[None\]"):
        join_heads(more)
    with pytest.raises(ValueError, match=r"not \(B, G, S, D\): .* x\[None\]"):
        share_heads(more, H)
