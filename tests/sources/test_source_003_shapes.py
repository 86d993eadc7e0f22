"""Every shape that source 003 prints, in the runs of our parts, and in traces
of them and of its own.

The source prints after 11 of its codeblocks; the labels are its own.
"""

from dataclasses import replace
from functools import cache, partial

import pytest
import torch

from tests.helpers import source_003
from tests.helpers.printed_003 import (
    BLOCKS,
    COUNTERPARTS,
    TABLE,
    expected,
    in_order,
)
from tests.helpers.weights import outputs
from tformer_lite import (
    EncoderDecoder,
    LayerNorm,
    causal_mask,
    dot_product_attention,
    paper_base,
    sinusoids,
    trace,
)

# The source returns, and prints, attention's output before the weights that
# it is made with.
RETURNED = ["attn_output", "attn_output_weights"]

# The modules of ours that the labels with "after" name.
FIRST, SECOND, THIRD = (f"dropout norms.{i}" for i in range(3))
READERS, WRITERS = (
    " ".join(f"{stack}.blocks.{i}" for i in range(6))
    for stack in ("encoder", "decoder")
)
MODULES = {
    21: f"self_attention {FIRST} feed_forward {SECOND}",
    23: f"self_attention {FIRST} cross_attention {SECOND} "
    f"feed_forward {THIRD}",
    26: f"src_embedding.tokens src_embedding.positions {READERS} "
    f"tgt_embedding.tokens tgt_embedding.positions {WRITERS} head",
}


def words_003():
    return torch.randint(0, 100, (1, 200))


def x(channels=512):
    return torch.randn(1, 200, channels)


@cache
def ours() -> dict[int, tuple]:
    """For each codeblock our part, and inputs for it.

    The source prints the means of its norms, so ours is written out too.
    """
    torch.manual_seed(0)
    model = EncoderDecoder(replace(paper_base, norm=LayerNorm))
    reader, writer = model.encoder.blocks[0], model.decoder.blocks[0]
    attend = partial(dot_product_attention, mask=causal_mask(200)[0])
    return {
        4: (model.src_embedding.tokens, words_003()),
        5: (model.tgt_embedding.tokens, words_003()),
        7: (lambda: sinusoids(200, 512),),
        9: (attend, x(64), x(64), x(64)),
        12: (reader.self_attention, x()),
        15: (writer.cross_attention, x(), x()),
        17: (reader.feed_forward, x()),
        19: (reader.norms[0], x()),
        21: (reader, x()),
        23: (writer, x(), x()),
        26: (model, words_003(), words_003()),
    }


@pytest.fixture(scope="module")
def traces():
    """A trace of each run."""
    with torch.no_grad():
        return {n: trace(*run, keep=True) for n, run in ours().items()}


def shapes_in(seen, *inputs, reads=False) -> list:
    """The shape of each input, and of all that each step makes, or also of
    what it reads."""
    marks = [*inputs]
    for step in seen.steps:
        marks += [*step.reads] * reads + [*step.makes]
    return [tuple(mark.shape) for mark in marks]


def test_the_source_prints_95_shapes():
    counts = [sum(n == block for n, *_ in TABLE) for block in BLOCKS]
    assert counts == [2, 2, 6, 8, 12, 15, 5, 6, 8, 12, 19]
    assert len(TABLE) == 95


@pytest.mark.parametrize("block", BLOCKS)
def test_every_printed_shape_is_made_by_a_step_of_its_own(block, traces):
    """A tensor that is read again does not count a second time."""
    rows = expected(block)
    labels = [label for label, _ in rows]
    if RETURNED[0] in labels and block != 9:
        i = labels.index(RETURNED[0])
        assert labels[i : i + 2] == RETURNED
        rows[i : i + 2] = rows[i + 1], rows[i]
    shapes = [shape for _, shape in rows]
    assert in_order(shapes, shapes_in(traces[block], *ours()[block][1:]))


@pytest.mark.parametrize("block", [9, 12, 15])
def test_the_printed_weights_are_weights_rows_that_sum_to_1(block, traces):
    (found,) = traces[block].attention()
    shape = dict(expected(block))["attn_output_weights"]
    assert tuple(found.weights.shape) == shape
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(shape[:-1]))


def test_a_counterpart_is_in_our_run_and_the_printed_shape_is_not(traces):
    rows = [row for row in TABLE if row[:2] in COUNTERPARTS]
    assert len(rows) == len(COUNTERPARTS)
    for block, label, shape in rows:
        found = shapes_in(traces[block], reads=True)
        assert shape not in found
        assert COUNTERPARTS[block, label] in found


@pytest.mark.parametrize("block", MODULES)
def test_each_after_in_a_block_is_the_output_of_the_module_it_names(block):
    names = MODULES[block].split()
    rows = [row for row in expected(block) if row[0].startswith("after")]
    found = [row for row in outputs(*ours()[block]) if row[0] in names]
    assert [name for name, _ in found] == names
    assert [shape for _, shape in found] == [shape for _, shape in rows]


@pytest.fixture(scope="module")
def theirs():
    """The source's own parts."""
    torch.manual_seed(0)
    model = source_003.Translator()
    reader, writer = model.readers[0], model.writers[0]
    attend = partial(writer.own.layer.attention, masked=True)
    return {
        4: (model.src_words, words_003()),
        5: (model.tgt_words, words_003()),
        7: (model.waves,),
        9: (attend, x(64), x(64), x(64)),
        12: (reader.own.layer, x()),
        15: (writer.cross.layer, x(), x()),
        17: (reader.bend.layer, x()),
        19: (reader.own.norm, x()),
        21: (reader, x()),
        23: (writer, x(), x()),
        26: (model, words_003(), words_003()),
    }


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS)
def test_a_trace_has_every_printed_shape_in_the_printed_order(block, theirs):
    with torch.no_grad():
        seen = trace(*theirs[block])
    printed = [shape for n, _, shape in TABLE if n == block]
    inputs = theirs[block][1:]
    assert in_order(printed, shapes_in(seen, *inputs, reads=True))
