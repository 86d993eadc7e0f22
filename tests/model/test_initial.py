"""Where a model starts: an even guess, and numbers of one size."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, layer_norm

from tests.helpers.small import NAMES, kind_of, preset, score, small
from tformer_lite import LayerNorm, MultiHeadAttention
from tformer_lite.model.choices import EMBEDDINGS, PARTS, POSITIONS
from tformer_lite.model.layers import Linear
from tformer_lite.model.models import Head

presets = pytest.mark.parametrize("name", NAMES)
embeddings = pytest.mark.parametrize("embedding", EMBEDDINGS)
SMALL = "tiny_translator", "char_lm"


def first_loss(name: str, seed: int = 0, **changes) -> tuple[float, float]:
    """The first loss for labels drawn from all ids, in parts of ln V, and
    the spread of the logits."""
    torch.manual_seed(seed)
    config = preset(name, **changes)
    model = kind_of(name)(config).eval()
    t = min(config.max_len, 64)
    b = 512 // t
    src = torch.randint(2, config.src_vocab_size or config.vocab_size, (b, t))
    tgt, labels = torch.randint(2, config.vocab_size, (2, b, t))
    with torch.no_grad():
        logits = score(model, src, tgt)
    loss = cross_entropy(logits.flatten(0, 1), labels.flatten())
    return loss.item() / math.log(config.vocab_size), logits.std().item()


def check(loss: float, spread: float) -> None:
    assert 0.95 < loss < 1.05
    assert 0.08 < spread < 0.12


@pytest.mark.slow
@embeddings
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", SMALL)
def test_small_presets_start_with_a_loss_of_ln_v(name, seed, embedding):
    check(*first_loss(name, seed))
    check(*first_loss(name, seed, embedding=embedding))


@pytest.mark.full
@pytest.mark.parametrize("name", ["paper_base", "building_blocks"])
def test_large_presets_start_with_a_loss_of_ln_v(name):
    check(*first_loss(name))


@pytest.mark.slow
@embeddings
@pytest.mark.parametrize("name", ["paper_base", "building_blocks"])
def test_large_presets_of_one_layer_do_so_with_each_embedding(name, embedding):
    check(*first_loss(name, n_layers=1, embedding=embedding))


@pytest.mark.slow
def test_thirty_thousand_word_pieces_start_at_ln_v_too():
    check(*first_loss("bert_window", n_layers=1))


@embeddings
@pytest.mark.parametrize("d_model", [16, 64, 256])
def test_tokens_start_with_variance_one_in_each_embedding(embedding, d_model):
    torch.manual_seed(0)
    x = EMBEDDINGS[embedding](2000, d_model)(torch.arange(2000)[None])
    assert 0.95 < x.var().item() < 1.05
    assert abs(x.mean().item()) < 0.02


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_positions_start_with_a_mean_square_of_one_half(positions):
    torch.manual_seed(0)
    x = POSITIONS[positions](400, 64)(torch.zeros(1, 400, 64))
    assert 0.48 < x.square().mean().item() < 0.52


@pytest.mark.slow
@pytest.mark.parametrize("d_model", [64, 256])
def test_square_layers_keep_the_variance_of_their_input(d_model):
    torch.manual_seed(0)
    x = torch.randn(2000, d_model) * 3
    layers = [Linear(d_model, d_model)]
    for field in ("attention", "cross_attention"):
        for kind in PARTS[field].values():
            part = kind(d_model, 4)
            layers += [m for m in part.modules() if isinstance(m, Linear)]
    shared = MultiHeadAttention(d_model, 4, n_kv_heads=2)
    layers += [shared.key, shared.value]
    assert len(layers) == 1 + 4 * 4 + 2 + 3 + 2
    for layer in layers:
        # Few output channels differ more by chance.
        off = 0.05 * max(1, d_model / layer.out_features) ** 0.5
        assert abs(layer(x).var().item() / x.var().item() - 1) < off
        assert layer.weight.abs().max() <= math.sqrt(3 / d_model)


def test_a_linear_layer_starts_as_wide_as_glorot_and_bengio_say():
    torch.manual_seed(0)
    layer, bound = Linear(300, 100), math.sqrt(6 / 400)
    assert 0.99 * bound < layer.weight.abs().max().item() <= bound
    assert 0.98 < layer.weight.var().item() * 3 / bound**2 < 1.02


@pytest.mark.parametrize("d_model", [12, 128, 512])
def test_logits_start_with_a_standard_deviation_of_a_tenth(d_model):
    torch.manual_seed(0)
    x = layer_norm(torch.randn(1000, d_model), (d_model,))
    logits = Head(d_model, 1000)(x)
    assert 0.097 < logits.std().item() < 0.103


@pytest.mark.parametrize("norm", sorted(PARTS["norm"].keys() - {"rms"}))
def test_a_norm_starts_with_mean_zero_and_variance_one(norm):
    torch.manual_seed(0)
    x = PARTS["norm"][norm](64)(torch.randn(3, 5, 64) * 7 + 2)
    share = 63 / 64 if norm == "unbiased" else 1
    variance = x.var(-1, unbiased=False)
    assert x.mean(-1).abs().max() < 1e-6
    assert (variance - share).abs().max() < 1e-4


@presets
def test_biases_and_offsets_start_at_zero_and_gains_at_one(name):
    torch.manual_seed(0)
    model = kind_of(name)(small(name, bias=True, head_bias=True))
    biases = 0
    for module in model.modules():
        if getattr(module, "bias", None) is not None:
            assert not module.bias.any()
            biases += isinstance(module, nn.Linear)
        if isinstance(module, LayerNorm | nn.LayerNorm):
            assert (module.weight == 1).all()
    linear = [m for m in model.modules() if isinstance(m, nn.Linear)]
    assert biases == len(linear)


@presets
def test_biases_are_where_the_config_says(name):
    def biased(**changes) -> int:
        model = kind_of(name)(small(name, **changes))
        linear = [m for m in model.modules() if isinstance(m, nn.Linear)]
        return sum(m.bias is not None for m in linear), len(linear)

    n = biased()[1]
    assert biased(bias=False, head_bias=False) == (0, n)
    assert biased(bias=False, head_bias=True) == (1, n)
    assert biased(bias=True, head_bias=False) == (n - 1, n)


@presets
def test_drawing_anew_starts_from_the_same_spread(name):
    torch.manual_seed(0)
    model = kind_of(name)(small(name, d_model=48))
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            before = module.weight.detach().clone()
            module.reset_parameters()
            assert not module.weight.equal(before)
            assert 0.8 < (module.weight.std() / before.std()).item() < 1.25
