"""The river of the residual stream is as high as what a model computes."""

from dataclasses import replace

import pytest
import torch
from matplotlib.patches import Polygon
from pictures.gauge import measured
from pictures.residual_stream import residual_stream

from tests.helpers.drawings import letter_faults
from tformer_lite import (
    Stack,
    padding_mask,
    running_example,
    running_model,
    tiny_translator,
)

EXAMPLE = running_example()
MASK = padding_mask(EXAMPLE.src, pad=1)


def deep(**choices) -> Stack:
    """An encoder of the running model's kind, and what goes in."""
    model = running_model(replace(tiny_translator, **choices))
    return model.encoder, model.src_embedding(EXAMPLE.src)


def rms(x: torch.Tensor) -> float:
    return pytest.approx(x.square().mean().sqrt().item())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pre", "post"])
def test_sizes_are_those_of_the_sums_written_out(kind):
    encoder, x = deep(n_layers=2, residual=kind)
    (stream,) = measured(encoder, x, MASK)
    for one, after in zip(stream.sums[::2], stream.sums[1::2]):
        block = encoder.blocks[one.block - 1]
        first, second = block.norms
        if kind == "pre":
            told = block.self_attention(first(x), mask=MASK)
            middle = total = x + told
            thought = block.feed_forward(second(middle))
        else:
            told = block.self_attention(x, mask=MASK)
            total = x + told
            middle = first(total)
            thought = block.feed_forward(middle)
        assert one.added == rms(told)
        assert one.total == rms(total)
        assert (one.before, one.after) == (rms(x), rms(middle))
        assert after.added == rms(thought)
        x = middle + thought
        x = x if kind == "pre" else second(x)
    assert stream.final == rms(encoder.norm(x))
    assert not any(part._forward_hooks for part in encoder.modules())


@pytest.mark.slow
def test_the_river_is_as_high_as_its_numbers():
    figure = residual_stream(running_model(), *EXAMPLE[:2]).figure
    rivers = [p for p in figure.axes[0].patches if isinstance(p, Polygon)]
    written = [float(text.get_text()) for text in levels(figure)]
    drawn = [p.get_xy()[0, 1] - p.get_xy()[1, 1] for p in rivers]
    scales = [high / level for high, level in zip(drawn, written)]
    assert len(scales) == 9
    assert scales == pytest.approx([scales[0]] * 9, rel=0.01)


def levels(figure) -> list:
    """The numbers that stand in the river."""
    texts = figure.axes[0].texts
    return [t for t in texts if t.get_text().replace(".", "").isdigit()]


def test_a_block_that_stands_twice_in_a_stack_counts_twice():
    encoder, x = deep(n_layers=2)
    encoder.blocks[1] = encoder.blocks[0]
    (stream,) = measured(encoder, x)
    assert [one.block for one in stream.sums] == [1, 1, 2, 2]
    assert [one.name for one in stream.sums[:2]] == [
        "self-attention",
        "feed-forward",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("residual", ["pre", "post"])
def test_words_have_room_in_any_depth(residual):
    for n_layers in (1, 6):
        encoder, x = deep(n_layers=n_layers, residual=residual)
        assert letter_faults(residual_stream(encoder, x, MASK)) == []
    model = running_model(replace(tiny_translator, residual=residual))
    assert letter_faults(residual_stream(model, *EXAMPLE[:2])) == []


@pytest.mark.slow
def test_a_stack_is_called_as_you_wrote_it():
    encoder, x = deep()
    assert residual_stream(encoder, x).text.startswith("encoder: the res")
    assert "decoder: " in residual_stream(running_model(), *EXAMPLE[:2]).text


def test_a_model_without_a_stream_is_refused():
    with pytest.raises(ValueError, match="Linear ran no Stack"):
        residual_stream(torch.nn.Linear(2, 2), torch.ones(1, 2))
