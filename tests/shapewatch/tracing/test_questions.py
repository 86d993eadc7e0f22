"""What one may ask of a trace of the running example."""

import pytest

from tests.helpers.translators import DIMS, translator
from tformer_lite import trace


@pytest.fixture(scope="module")
def seen():
    return trace(build=translator, dims=DIMS)


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
