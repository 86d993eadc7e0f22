"""Parameters and FLOPs, against figures that are not ours."""

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from shapewatch.tracing.questions.costs import flops, parameters
from tests.helpers import source_003
from tests.helpers.small import words
from tformer_lite import EncoderDecoder, paper_base

# Each layer of source 003, as its summary prints it.
PRINTED = {
    "src_embedding": 51_200,
    "tgt_embedding": 61_440,
    "encoder.blocks.5.self_attention": 1_050_624,
    "decoder.blocks.0.cross_attention": 1_050_624,
    "decoder.blocks.5.feed_forward": 2_099_712,
    "decoder.blocks.3.residuals.2.norm": 1_024,
    "head": 61_560,
}


@pytest.fixture(scope="module")
def ids():
    return words(100, 1, 200), words(120, 1, 200, seed=1)


def test_paper_base_has_the_parameters_of_the_sources_summary():
    with torch.device("meta"):
        sheet = parameters(EncoderDecoder(paper_base))
    assert sheet[""].parameters == 44_312_696
    assert {path: sheet[path].parameters for path in PRINTED} == PRINTED


@pytest.mark.slow
def test_source_003_takes_9_557_606_400_multiply_adds_and_twice_the_flops(
    ids,
):
    whole = flops(source_003.Translator().eval(), *ids)[""]
    assert whole.multiply_adds == 9_557_606_400
    assert whole.flops == 19_115_212_800
    assert whole.parameters == 44_312_696


@pytest.mark.parametrize("fast", [True, False])
def test_torchs_fused_attention_counts_as_the_written_one(fast):
    """Training mode writes attention out; inference has one kernel."""
    by_hand = 2 * 2 * 8 * 12 * (36 + 12 + 2 * 48) + 2 * 2 * (2 * 8 * 8 * 12)
    layer = nn.TransformerEncoderLayer(12, 3, 48, batch_first=True)
    layer.train(not fast)
    assert flops(layer, torch.randn(2, 8, 12))[""].flops == by_hand


def test_scaled_dot_product_attention_is_two_products():
    q, k = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 7, 4)
    whole = flops(scaled_dot_product_attention, q, k, k)[""]
    assert whole.flops == 2 * (2 * 2 * 3 * 5 * 7 * 4)
    assert whole.kind == "scaled_dot_product_attention"


@pytest.mark.parametrize(
    ("product", "by_hand"),
    [
        (lambda m, v: m @ v, 2 * 3 * 4),
        (lambda m, v: v @ v, 2 * 4),
        (lambda m, v: torch.addmv(m[:, 0], m, v), 2 * 3 * 4),
        (lambda m, v: torch.einsum("fc,fc->f", m, m) + 1, 2 * 3 * 4),
        (lambda m, v: m * v, 0),
    ],
)
def test_products_with_a_vector_are_counted(product, by_hand):
    count = flops(product, torch.randn(3, 4), torch.randn(4))[""]
    assert count.flops == by_hand


@pytest.mark.parametrize(("kind", "gates"), [(nn.LSTM, 4), (nn.GRU, 3)])
def test_recurrent_layers_are_counted(kind, gates):
    layer, x = kind(4, 5, 2, bidirectional=True), torch.randn(6, 2, 4)
    by_hand = 2 * 6 * 2 * 2 * gates * 5 * ((4 + 5) + (2 * 5 + 5))
    assert flops(layer, x)[""].flops == by_hand


def test_layer_10_is_not_counted_within_layer_1():
    layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(11)))
    sheet = flops(layers, torch.randn(3, 4))
    assert {row.flops for row in sheet.rows[:-1]} == {2 * 3 * 4 * 4}
