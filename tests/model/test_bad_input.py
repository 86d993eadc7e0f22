"""Bad input gets an error that names the values and the rule."""

import pytest
import torch

from tests.helpers.small import build, small, words
from tformer_lite import (
    Block,
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
CODER, WRITER = build(EncoderDecoder, CONFIG), build(DecoderOnly, CONFIG)
MEMORY = CODER.encode(SRC)


@pytest.mark.parametrize("n_heads", [5, 0, -3, 13])
@pytest.mark.parametrize(
    "part",
    [
        MultiHeadAttention,
        FusedAttention,
        FusedCrossAttention,
        lambda c, n: split_heads(torch.zeros(B, T, c), n),
    ],
)
def test_heads_that_do_not_divide_the_channels_are_named(part, n_heads):
    words = f"d_model=12 is not divisible by n_heads={n_heads}: .* divides"
    with pytest.raises(ValueError, match=words):
        part(12, n_heads)


def with_one(ids: torch.Tensor, bad: int) -> torch.Tensor:
    """The ids with one of them replaced."""
    ids = ids.clone()
    ids[1, 2] = bad
    return ids


OUTSIDE = "is outside the vocabulary: ids run from 0 to"
LONG = "9 positions is longer than max_len=8: .* a larger max_len"
BATCH = r", not \(B, T\): .* at least one id. .* batch with ids\[None\]"
CALLS = [
    *((CODER, (SRC, with_one(TGT, n)), f"^id {n} {OUTSIDE} 10.$")
      for n in (-1, 11, 10**6)),
    (WRITER, (with_one(TGT, 11),), f"^id 11 {OUTSIDE} 10.$"),
    (CODER, (with_one(SRC, 10), TGT), f"^id 10 {OUTSIDE} 9.$"),
    (CODER, (SRC, words(11, 2, 9)), LONG),
    (WRITER, (words(11, 2, 9),), LONG),
    (CODER, (SRC, TGT[0, :2]), r"shape \(2,\)" + BATCH),
    (CODER, (SRC[:0], TGT[:0]), r"shape \(0, 3\)" + BATCH),
    (CODER.decode, (TGT, MEMORY, SRC[0]), r"shape \(3,\)" + BATCH),
    (CODER, (SRC, TGT[:1]), "src has a batch of 2, tgt of 1"),
    (CODER.decode, (TGT, MEMORY[:1], SRC), r"q \(2, 3, .* k \(1, 3, .* fit"),
    (CODER.decode, (TGT, MEMORY, SRC[:, :2]), "axis 3 .* size 2, .* have 3"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "inputs", "match"), CALLS)
def test_ids_that_a_model_cannot_take_are_named_with_the_rule(
    call, inputs, match
):
    with pytest.raises(ValueError, match=match):
        call(*inputs)


def test_the_longest_rows_and_the_last_ids_are_taken():
    logits = CODER(words(10, 2, 8), words(11, 2, 8))
    assert logits.shape == (2, 8, 11)
    assert CODER(SRC, with_one(TGT, 10)).shape == (2, 4, 11)
    assert WRITER(TGT[0][None]).shape == (1, 4, 11)
    assert CODER(SRC.int(), TGT.int()).equal(CODER(SRC, TGT))


@pytest.mark.parametrize(
    ("ids", "error", "match"),
    [
        (SRC.float(), TypeError, "float32: make them integers, ids.long"),
        (SRC == 1, TypeError, "ids are torch.bool"),
        (SRC[..., None], ValueError, r"\(2, 3, 1\), not \(B, T\)"),
        (SRC[:, :0], ValueError, r"\(2, 0\), not \(B, T\): .* at least one"),
    ],
)
def test_ids_that_are_no_rows_of_whole_numbers_are_refused(ids, error, match):
    for call in (
        lambda: CODER(ids, TGT),
        lambda: CODER(SRC, ids),
        lambda: WRITER(ids),
        lambda: TokenEmbedding(11, 4)(ids),
        lambda: padding_mask(ids, pad=1),
    ):
        with pytest.raises(error, match=match):
            call()


def test_parts_that_are_put_in_the_wrong_place_say_so():
    with pytest.raises(ValueError, match="residual='post', .* pre-norm"):
        Block(CONFIG)
    layer, x = FusedAttention(12, 3), torch.randn(2, 5, 12)
    with pytest.raises(ValueError, match="without a source got one"):
        layer(x, x)


@pytest.mark.parametrize("pad", [-1, 10, 99])
def test_padding_that_is_no_id_of_both_sides_is_refused(pad):
    """`beam` and `greedy` fill rows with it, and sources are padded, too."""
    with pytest.raises(ValueError, match=f"pad={pad} .* 0 to 9. Give the C"):
        EncoderDecoder(small("paper_base", pad=pad))
    with pytest.raises(ValueError, match="pad=1 is outside .* 0 to 0"):
        EncoderDecoder(small("paper_base", src_vocab_size=1))
    assert DecoderOnly(small("paper_base", pad=pad))  # it pads nothing


def attend(shape: tuple, dtype=torch.bool, front: tuple = (B, H)):
    """Attention with a mask of that shape."""
    q, k = torch.randn(*front, T, D), torch.randn(*front, S, D)
    return dot_product_attention(q, k, k, torch.ones(shape, dtype=dtype))


BH = B, H
MASKS = [
    (BH, (3, 1, 1, S), r"axis 0 .* B \(the batch\), has size 3, .* have 2"),
    (BH, (1, 2, 1, S), r"axis 1 .* H \(the heads\), has size 2, .* have 3"),
    (BH, (B, 1, T, 1), r"axis 3 .* S .* size 1, .* 6 .* hides keys"),
    (BH, (T, S), r"2 axes \(5, 6\), the scores have 4 \(2, 3, 5, 6\)"),
    (BH, (), r"0 axes \(\)"),
    ((), (T, 7), r"axis 1 .* S \(the keys\)"),
    ((), (4, S), r"axis 0 .* T \(the queries\)"),
    ((2, 3, 2), (2, 3, 2, 4, S), r"axis 3 .* T \(the queries\)"),
    ((2, 3, 2), (9, 1, 1, 1, S), "axis 0 of the mask, in front"),
    ((H, H), (H, 1, S), "3 axes .* every axis"),  # it would broadcast
]


@pytest.mark.parametrize(("front", "shape", "match"), MASKS)
def test_a_mask_that_does_not_fit_names_the_axis(front, shape, match):
    """The last two axes have their names whatever stands in front."""
    with pytest.raises(ValueError, match=match):
        attend(shape, front=front)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_a_mask_of_numbers_is_refused(dtype):
    with pytest.raises(TypeError, match=f"{dtype}, not .*bool.* mask != 0"):
        attend((B, 1, 1, S), dtype)


@pytest.mark.parametrize(
    ("q", "k", "v"),
    [
        ((1, H, T, D), (B, H, S, D), (B, H, S, D)),
        ((B, H, T, D), (B, H, S, D), (1, H, S, D)),
        ((B, H, T, 1), (B, H, S, D), (B, H, S, D)),
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
