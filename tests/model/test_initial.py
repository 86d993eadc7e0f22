"""Where a model starts: an even guess, and numbers of one size."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from tests.helpers.small import kind_of, preset, presets, score, small
from tformer_lite import MultiHeadAttention
from tformer_lite.model.choices import EMBEDDINGS, PARTS
from tformer_lite.model.layers import Linear

embeddings = pytest.mark.parametrize("embedding", EMBEDDINGS)


FIRST = [
    pytest.param(name, seed, embedding, marks=pytest.mark.slow)
    for name in ("tiny_translator", "char_lm")
    for seed in range(5)
    for embedding in EMBEDDINGS
] + [
    pytest.param(name, 0, preset(name).embedding, marks=pytest.mark.full)
    for name in ("paper_base", "building_blocks")
]


@pytest.mark.parametrize(("name", "seed", "embedding"), FIRST)
def test_a_preset_starts_with_a_loss_of_ln_v(name, seed, embedding):
    """For labels drawn from all ids; and the logits have a standard
    deviation of a tenth."""
    torch.manual_seed(seed)
    config = preset(name, embedding=embedding)
    model = kind_of(name)(config).eval()
    t = min(config.max_len, 64)
    b = 512 // t
    src = torch.randint(2, config.src_vocab_size or config.vocab_size, (b, t))
    tgt, labels = torch.randint(2, config.vocab_size, (2, b, t))
    with torch.no_grad():
        logits = score(model, src, tgt)
    loss = cross_entropy(logits.flatten(0, 1), labels.flatten()).item()
    assert 0.95 < loss / math.log(config.vocab_size) < 1.05
    assert 0.08 < logits.std().item() < 0.12


@embeddings
@pytest.mark.parametrize("d_model", [16, 64, 256])
def test_tokens_start_with_variance_one_in_each_embedding(embedding, d_model):
    x = EMBEDDINGS[embedding](2000, d_model)(torch.arange(2000)[None])
    assert 0.95 < x.var().item() < 1.05
    assert abs(x.mean().item()) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("d_model", [64, 256])
def test_square_layers_keep_the_variance_of_their_input(d_model):
    x = torch.randn(2000, d_model) * 3
    layers = [Linear(d_model, d_model)]
    for field in ("attention", "cross_attention"):
        for kind in PARTS[field].values():
            part = kind(d_model, 4)
            layers += [m for m in part.modules() if isinstance(m, Linear)]
    shared = MultiHeadAttention(d_model, 4, bias=True, n_kv_heads=2)
    assert not shared.key.bias.any()
    layers += [shared.key, shared.value]
    assert len(layers) == 1 + 4 * 4 + 2 + 3 + 2
    for layer in layers:
        # Few output channels differ more by chance.
        off = 0.05 * max(1, d_model / layer.out_features) ** 0.5
        assert abs(layer(x).var().item() / x.var().item() - 1) < off
        assert layer.weight.abs().max() <= math.sqrt(3 / d_model)


def test_a_linear_layer_starts_as_wide_as_glorot_and_bengio_say():
    layer, bound = Linear(300, 100), math.sqrt(6 / 400)
    assert 0.99 * bound < layer.weight.abs().max().item() <= bound
    assert 0.98 < layer.weight.var().item() * 3 / bound**2 < 1.02


@presets
def test_biases_are_where_the_config_says_and_start_at_zero(name):
    def biased(**changes) -> int:
        model = kind_of(name)(small(name, **changes))
        linear = [m for m in model.modules() if isinstance(m, nn.Linear)]
        biases = [m.bias for m in linear if m.bias is not None]
        assert not any(bias.any() for bias in biases)
        return len(biases), len(linear)

    n = biased()[1]
    assert biased(bias=False, head_bias=False) == (0, n)
    assert biased(bias=False, head_bias=True) == (1, n)
    assert biased(bias=True, head_bias=False) == (n - 1, n)
