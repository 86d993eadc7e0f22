"""Attention is found and measured by following the data, in whatever layout it
is written, in groups that share keys too, and whoever computed it."""

import math
from dataclasses import replace

import pytest
import torch
from torch import einsum, nn
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from tests.helpers import layouts
from tests.helpers.layouts import LAYOUTS, Layer
from tests.helpers.small import build, small
from tformer_lite import (
    EncoderDecoder,
    causal_mask,
    padding_mask,
    running_example,
    tiny_translator,
    trace,
)

B, H, G, N, T, S, D = 2, 3, 3, 2, 5, 7, 4
SIZES = {"B": B, "H": H, "D": D, "T": T, "S": S}
X = torch.randn(B, T, H * D, generator=torch.Generator().manual_seed(0))
SOURCE = torch.randn(B, S, H * D, generator=torch.Generator().manual_seed(1))
MASK = torch.ones(T, S).tril() > 0


def seen(layer, **options):
    """The one attention of a layer."""
    (found,) = trace(layer, SOURCE, X, keep=True, **options).attention()
    return found


def expected(q, k):
    """Scores, masked scores and weights, (B, H, T, S), by equation 1: each
    query with its group's key."""
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    scores = (q @ k.mT / 2).detach()
    masked = scores.masked_fill(~MASK, -math.inf)
    return scores, masked, masked.softmax(-1)


def expected_of(layer):
    """Those of a layer."""
    q, k, _ = (x.transpose(1, 2) for x in layer.split(SOURCE, X))
    return expected(q, k)


def numbers(*tensors):
    """Their numbers, in whatever order; no score is below -99."""
    flat = torch.cat([x.flatten() for x in tensors])
    return flat.clamp(min=-99).sort().values


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True], ids=["each", "shared"])
@pytest.mark.parametrize("attend", LAYOUTS, ids=lambda f: f.__name__)
def test_scores_masked_and_weights_are_those_of_the_equation(attend, shared):
    layer = Layer(attend, shared=shared).eval()
    found, (scores, masked, weights) = seen(layer), expected_of(layer)
    assert_close(numbers(found.scores), numbers(scores))
    assert_close(numbers(found.weights), numbers(weights))
    if attend is not layouts.powers_masked:  # no softmax saw its mask
        assert_close(numbers(found.masked), numbers(masked))


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("nanogpt", "(B~, H~, T~, S~)"),
        ("one_call", "(B~, H~, T~, S~)"),
        ("transposed_scores", "(B~, H~, S~, T~)"),
        ("transposed_back_before_softmax", "(B~, H~, T~, S~)"),
        ("transposed_to_the_end", "(6?, S~, T~)"),
    ],
)
def test_the_axes_are_the_models_own(name, shape):
    found = seen(Layer(getattr(layouts, name)), dims=SIZES)
    assert repr(found) == f"attention in the model: {shape}"


@pytest.mark.parametrize(
    "cleared",
    [
        lambda weights, empty: weights * ~empty,
        lambda weights, empty: weights.masked_fill(empty, 0),
        lambda weights, empty: torch.where(empty, 0, weights),
    ],
    ids=["product", "filled", "chosen"],
)
def test_rows_that_are_cleared_after_the_softmax_are_measured_so(cleared):
    empty = torch.tensor([False, True, False, False, True])[:, None]

    def attend(q, k, v, mask):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        weights = (q @ k.mT / 2 + mask.log()).softmax(-1)
        return (cleared(weights, empty) @ v).transpose(1, 2)

    layer = Layer(attend)
    found, (_, masked, weights) = seen(layer), expected_of(layer)
    assert_close(found.weights, weights.masked_fill(empty, 0))
    assert_close(found.masked, masked)


# --- in groups ----------------------------------------------------------


# Grouped-query attention as strangers write it: each takes queries
# (B, H, T, D), keys and values (B, G, S, D) and the mask (T, S), True where
# it may attend, and gives (B, H, T, D). Head h reads the key head h // (H/G).


def hidden(scores, mask):
    return scores.masked_fill(~mask, -math.inf)


def sdpa_enable_gqa(q, k, v, mask):
    return scaled_dot_product_attention(
        q, k, v, attn_mask=mask, enable_gqa=True
    )


def five_axes(q, k, v, mask):
    q = q.unflatten(1, (k.shape[1], -1))
    scores = q @ k[:, :, None].mT / math.sqrt(q.shape[-1])
    weights = hidden(scores, mask).softmax(-1)
    return (weights @ v[:, :, None]).flatten(1, 2)


def einsum_groups_behind(q, k, v, mask):
    """As T5X has it: the group stands behind the position."""
    q = q.unflatten(1, (k.shape[1], -1)).permute(0, 3, 1, 2, 4)
    scores = einsum("btgnd,bgsd->bgnts", q, k) / math.sqrt(q.shape[-1])
    weights = hidden(scores, mask).softmax(dim=-1)
    return einsum("bgnts,bgsd->btgnd", weights, v).permute(
        0, 2, 3, 1, 4
    ).flatten(1, 2)  # fmt: skip


OWN_AXIS = [five_axes, einsum_groups_behind]
GROUPED = [*OWN_AXIS, sdpa_enable_gqa]
if torch.__version__ < "2.5":
    GROUPED.remove(sdpa_enable_gqa)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 3, 6])
@pytest.mark.parametrize("attend", GROUPED, ids=lambda f: f.__name__)
def test_groups_have_those_of_the_equation(attend, groups):
    q, k, v = torch.randn(B, G * N, T, D), *torch.randn(2, B, groups, S, D)
    parts = trace(attend, q, k, v, MASK, keep=True).attention()
    for mine, theirs in zip(list(zip(*parts))[2:], expected(q, k)):
        assert_close(numbers(*mine), numbers(theirs))


@pytest.mark.parametrize("attend", OWN_AXIS, ids=lambda f: f.__name__)
def test_groups_have_their_own_axis_where_they_are_written_so(attend):
    def build(B, G, N, T, S, D):
        q, k = torch.randn(B, G * N, T, D), torch.randn(B, G, S, D)
        return attend, (q, k, k + 1, torch.ones(T, S).tril() > 0)

    dims = SIZES | {"G": G, "N": N, "H": "G*N"}
    (attention,) = trace(build=build, dims=dims, keep=True).attention()
    assert repr(attention) == "attention in the model: (B, G, N, T, S)"
    assert attention.weights.shape == tuple(
        axis.size for axis in attention.axes
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["eager", "sdpa"])
@pytest.mark.parametrize("name", ["Llama", "Qwen3", "Falcon"])
def test_models_of_transformers_give_the_weights_that_they_return(name, kind):
    import transformers

    config = getattr(transformers, f"{name}Config")(
        vocab_size=20,
        hidden_size=G * N * D,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=G * N,
        num_key_value_heads=2,
        max_position_embeddings=16,
        **({"head_dim": D} if name == "Qwen3" else {}),
    )
    make = getattr(transformers, f"{name}Model")._from_config
    model = make(config, attn_implementation="eager").eval()
    ids = torch.randint(3, 20, (B, T))
    with torch.no_grad():
        given = model(ids, output_attentions=True).attentions
        model.set_attn_implementation(kind)
        (attention,) = trace(model, ids, keep=True).attention()
    assert_close(attention.weights, given[0])
    assert attention.weights.shape == (B, G * N, T, T)


# --- whoever computed it -------------------------------------------------


def check(attention, scores, mask):
    """Compare with scores that were computed apart, and PyTorch's softmax:
    scores of a row without keys stay, and its weights are zeros."""
    empty = ~mask.any(-1, keepdim=True)
    masked = scores.masked_fill(~(mask | empty), -math.inf)
    assert_close(attention.scores, scores)
    assert_close(attention.masked, masked.expand_as(attention.masked))
    assert_close(attention.weights, masked.softmax(-1).masked_fill(empty, 0))


@pytest.mark.parametrize("attention", ["split", "fused"])
def test_three_attentions_of_the_running_example(attention):
    model = EncoderDecoder(replace(tiny_translator, attention=attention))
    src, tgt, *_ = running_example()
    attentions = trace(model, src, tgt, keep=True).attention()
    assert [attention.path for attention in attentions] == [
        "encoder.blocks.0.self_attention",
        "decoder.blocks.0.self_attention",
        "decoder.blocks.0.cross_attention",
    ]
    masks = padding_mask(src, 1), causal_mask(8) & padding_mask(tgt, 1)
    for attention, mask in zip(attentions, (*masks, masks[0])):
        assert attention.weights.shape == (2, 3, 8, 8)
        assert attention.scores.isfinite().all()
        check(attention, attention.scores, mask)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
def test_multihead_attention_gives_the_weights_it_returns(
    masked, need_weights
):
    layer = nn.MultiheadAttention(H * D, H, batch_first=True).eval()
    inputs = X, SOURCE, SOURCE
    mask = torch.rand(T, S) > 0.3 if masked else torch.ones(T, S).bool()
    mask[:, 0] = True
    options = {"attn_mask": ~mask} if masked else {}
    _, weights = layer(*inputs, average_attn_weights=False, **options)
    options |= {"need_weights": need_weights}
    (attention,) = trace(layer, *inputs, keep=True, **options).attention()
    parts = {
        name: getattr(attention, name).view(B, H, T, S)
        for name in ("scores", "masked", "weights")
    }
    assert_close(parts["weights"], weights.detach())
    assert parts["scores"].isfinite().all()
    check(attention._replace(**parts), parts["scores"], mask)


def test_a_softmax_that_is_no_attention_is_not_taken_for_one():
    def classify(x, w):
        return torch.softmax(x @ w, -1)

    seen = trace(classify, torch.randn(2, 3), torch.randn(3, 4), keep=True)
    assert seen.attention() == []


def test_what_was_not_kept_says_so():
    model = build(EncoderDecoder, small("paper_base"))
    ids = torch.randint(2, 10, (2, 4))
    with pytest.raises(ValueError, match=r"encoder.*not kept.*keep=True"):
        trace(model, ids, ids).attention()


def test_weights_that_a_fused_call_dropped_are_not_explained():
    def attend(q):
        return scaled_dot_product_attention(q, q, q, dropout_p=0.5)

    seen = trace(attend, torch.randn(B, H, T, D), keep=True)
    with pytest.raises(ValueError, match="dropped some weights"):
        seen.attention()
