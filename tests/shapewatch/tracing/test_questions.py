"""What one may ask of a trace of the running example."""

import json

import pytest

from shapewatch.tracing.questions.saved import from_json
from tests.helpers.translators import DIMS, translator
from tformer_lite import EncoderDecoder, tiny_translator, trace


@pytest.fixture(scope="module")
def seen():
    return trace(build=translator, dims=DIMS)


def test_the_presets_parameters_are_counted(seen):
    ids = seen.inputs
    preset = trace(EncoderDecoder(tiny_translator), *ids)
    assert "41,256" in str(preset.parameters())
    assert "decoder.blocks.0.cross_attention" in str(seen.parameters())


def test_multiply_adds_and_gradients_are_those_of_the_traced_run(seen):
    assert "head" in str(seen.flops())
    assert "(1024, 12)" in str(seen.gradients())
    assert seen.model.head.weight.grad is None


def test_the_json_holds_the_table(seen):
    text = seen.to_json()
    assert json.loads(text)["version"] == 1
    assert str(from_json(text)) == str(seen.calls())


@pytest.mark.slow
def test_a_trace_agrees_with_itself_and_not_with_another(seen):
    assert "agree" in str(seen.compare(seen))

    def deeper(B, S, T, H, D):
        model, ids = translator(B, S, T, H, D)
        model.encoder.blocks[0].feed_forward.activation = lambda x: x[..., :5]
        model.encoder.blocks[
            0
        ].feed_forward.output.weight.data = model.encoder.blocks[
            0
        ].feed_forward.output.weight.data[:, :5]
        return model, ids

    other = trace(build=deeper, dims=DIMS)
    said = str(seen.compare(other))
    assert "agree" not in said
    assert "encoder.blocks.0.feed_forward" in said
