"""Grouped queries, gates and the RMS norm, against PyTorch and formulas."""

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention, silu
from torch.testing import assert_close

from tests.helpers.agreement import exact, near
from tformer_lite import (
    GatedFeedForward,
    MultiHeadAttention,
    causal_mask,
    join_heads,
    rotate,
    share_heads,
    split_heads,
)
from tformer_lite.model.choices import PARTS

B, H, T, S, D, C = 2, 6, 7, 5, 4, 24


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def heads_of(layer: nn.Module, x: torch.Tensor, source=None) -> list:
    """Queries, keys and values before any turn, by the layer's weights."""
    given = (x, *(x if source is None else source,) * 2)
    layers = layer.query, layer.key, layer.value
    return [
        split_heads(make(y), make.out_features // D)
        for make, y in zip(layers, given, strict=True)
    ]


@pytest.mark.skipif(torch.__version__ < "2.5", reason="no enable_gqa yet")
@pytest.mark.parametrize("n_kv_heads", [1, 2, 3, 6])
def test_grouped_heads_are_pytorchs(n_kv_heads):
    layer = MultiHeadAttention(C, H, True, n_kv_heads=n_kv_heads).double()
    x, source = exact(B, T, C), exact(B, S, C)
    mask = torch.rand(B, 1, T, S) > 0.3
    mask[..., 0] = True
    q, k, v = heads_of(layer, x, source)
    assert k.shape == v.shape == (B, n_kv_heads, S, D)
    heads = scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
    near(layer(x, source, mask), layer.output(join_heads(heads)))
    q, k, v = heads_of(layer, x)
    shared = {"n_kv_heads": n_kv_heads, "place": rotate}
    turned = MultiHeadAttention(C, H, True, **shared)
    turned.double().load_state_dict(layer.state_dict())
    heads = scaled_dot_product_attention(
        rotate(q), rotate(k), v, causal_mask(T), enable_gqa=True
    )
    mine = turned(x, mask=causal_mask(T))
    near(mine, turned.output(join_heads(heads)))


@pytest.mark.parametrize("n_kv_heads", [1, 2, 3, 6])
def test_shared_heads_are_full_attention_whose_weights_are_repeated(
    n_kv_heads,
):
    layer = MultiHeadAttention(C, H, True, n_kv_heads=n_kv_heads).double()
    full = MultiHeadAttention(C, H, True).double()
    weights = layer.state_dict()
    for name in [n for n in weights if n.startswith(("key", "value"))]:
        heads = weights[name].unflatten(0, (n_kv_heads, D))
        repeated = [heads[i * n_kv_heads // H] for i in range(H)]
        weights[name] = torch.cat(repeated)
    full.load_state_dict(weights)
    x, source = exact(B, T, C), exact(B, S, C)
    near(layer(x, source), full(x, source))
    near(layer(x, mask=causal_mask(T)), full(x, mask=causal_mask(T)))
    spared = 2 * (C + 1) * (C - n_kv_heads * D)
    assert sum(map(torch.numel, layer.parameters())) == (
        sum(map(torch.numel, full.parameters())) - spared
    )


@pytest.mark.parametrize("n_kv_heads", [4, 0, -1, 12])
def test_heads_that_do_not_divide_into_groups_are_named(n_kv_heads):
    words = f"n_heads=6 is not divisible by n_kv_heads={n_kv_heads}: .* divid"
    with pytest.raises(ValueError, match=words):
        MultiHeadAttention(C, H, n_kv_heads=n_kv_heads)
    if n_kv_heads > 0:
        with pytest.raises(ValueError, match=words):
            share_heads(torch.randn(B, n_kv_heads, S, D), H)


def test_as_many_heads_are_not_copied():
    x = torch.randn(B, H, S, D)
    assert share_heads(x, H) is x
    assert share_heads(x[:, :2], H).equal(x[:, :2].repeat_interleave(3, 1))


@pytest.mark.parametrize("bias", [True, False])
def test_a_gated_layer_is_the_formula_of_swiglu(bias):
    F = 10
    layer, x = GatedFeedForward(C, F, bias=bias).double(), exact(B, T, C)
    weights = dict(layer.named_parameters())
    assert sum(p.numel() for n, p in weights.items() if "w" in n) == 3 * C * F
    assert len(weights) == (6 if bias else 3)
    for name in [n for n in weights if "bias" in n]:
        nn.init.normal_(weights[name])
    b = {n: weights.get(f"{n}.bias", 0) for n in ("gate", "hidden", "output")}
    gate = x @ layer.gate.weight.mT + b["gate"]
    value = x @ layer.hidden.weight.mT + b["hidden"]
    hidden = gate / (1 + torch.exp(-gate)) * value
    near(layer(x), hidden @ layer.output.weight.mT + b["output"])
    near(PARTS["activation"]["silu"](gate), silu(gate))


@pytest.mark.parametrize(
    "part",
    [
        lambda: MultiHeadAttention(C, H, n_kv_heads=2, place=rotate),
        lambda: GatedFeedForward(C, 10),
    ],
)
def test_there_are_no_biases_unless_they_are_asked_for(part):
    assert not any("bias" in name for name, _ in part().named_parameters())


def test_dropped_hidden_channels_leave_the_others_twice_as_large():
    layer = GatedFeedForward(C, 10, dropout=0.5)
    layer.output = nn.Identity()
    x = torch.randn(1, 400, C)
    share = layer(x) / layer.eval()(x)
    assert {round(s, 3) for s in share.flatten().tolist()} == {0.0, 2.0}


def test_the_rms_norm_divides_by_the_root_of_the_mean_square_alone():
    norm, x = PARTS["norm"]["rms"](C).double(), exact(B, T, C) + 3
    nn.init.normal_(norm.weight)
    root = x.square().mean(-1, keepdim=True).sqrt()
    assert_close(norm(x), x / root * norm.weight, rtol=1e-12, atol=1e-12)
    assert [n for n, _ in norm.named_parameters()] == ["weight"]
