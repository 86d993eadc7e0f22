"""Attention whose queries share keys: grouped, and by one head."""

import math

import pytest
import torch
from torch import einsum
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from shapewatch.tracing import trace

DIMS = {"B": 2, "G": 3, "N": 2, "T": 5, "S": 7, "D": 4, "H": "G*N"}
B, G, N, T, S, D, H = 2, 3, 2, 5, 7, 4, 6
MASK = torch.ones(T, S).tril() > 0

# Grouped-query attention as strangers write it: each takes queries
# (B, H, T, D), keys and values (B, G, S, D) and the mask (T, S), True where
# it may attend, and gives (B, H, T, D). Head h reads the key head h // (H/G).


def hidden(scores, mask):
    return scores.masked_fill(~mask, -math.inf)


def ratio(q, k):
    return q.shape[1] // k.shape[1]


def ungrouped(q, keys, values, mask):
    weights = hidden(q @ keys.mT / math.sqrt(q.shape[-1]), mask).softmax(-1)
    return weights @ values


def llama_expand(q, k, v, mask):
    def repeat_kv(x, n):
        b, g, s, d = x.shape
        x = x[:, :, None, :, :].expand(b, g, n, s, d)
        return x.reshape(b, g * n, s, d)

    n = ratio(q, k)
    return ungrouped(q, repeat_kv(k, n), repeat_kv(v, n), mask)


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


# Each, and the axes that its weights have: groups have one of their own
# where they are written so.
LAYOUTS = {
    llama_expand: "(B, H, T, S)",
    sdpa_enable_gqa: "",
    five_axes: "(B, G, N, T, S)",
    einsum_groups_behind: "(B, G, N, T, S)",
}
if torch.__version__ < "2.5":
    del LAYOUTS[sdpa_enable_gqa]
NAMED = [attend for attend, axes in LAYOUTS.items() if axes]


def expected(q, k, mask):
    """Scores, masked scores and weights: each query with its group's key."""
    keys = torch.stack([k[:, h * k.shape[1] // H] for h in range(H)], 1)
    scores = q @ keys.mT / 2
    masked = scores.masked_fill(~mask, -math.inf)
    return scores, masked, masked.softmax(-1)


def numbers(tensors):
    """Their numbers, in whatever order; no score is below -99."""
    flat = torch.cat([x.flatten() for x in tensors])
    return flat.clamp(min=-99).sort().values


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 3, 6])
@pytest.mark.parametrize("attend", LAYOUTS, ids=lambda f: f.__name__)
def test_all_three_are_those_of_the_equation(attend, groups):
    torch.manual_seed(0)
    q, k, v = torch.randn(B, H, T, D), *torch.randn(2, B, groups, S, D)
    parts = trace(attend, q, k, v, MASK, keep=True).attention()
    for mine, theirs in zip(list(zip(*parts))[2:], expected(q, k, MASK)):
        assert_close(numbers(mine), numbers([theirs]))


@pytest.mark.parametrize("attend", NAMED, ids=lambda f: f.__name__)
def test_groups_have_their_own_axis_where_they_are_written_so(attend):
    def build(B, G, N, T, S, D):
        q, k = torch.randn(B, G * N, T, D), torch.randn(B, G, S, D)
        return attend, (q, k, k + 1, torch.ones(T, S).tril() > 0)

    (attention,) = trace(build=build, dims=DIMS, keep=True).attention()
    assert repr(attention) == f"attention in the model: {LAYOUTS[attend]}"
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
        hidden_size=H * D,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=H,
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
    assert attention.weights.shape == (B, H, T, T)
