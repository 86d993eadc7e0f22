"""Every shape that source 003 prints, in the runs of our parts.

The source prints after 11 of its codeblocks; the labels are its own.
"""

import pytest
import torch

from tests.helpers.ours_003 import ours
from tests.helpers.printed_003 import (
    BLOCKS,
    COUNTERPARTS,
    TABLE,
    expected,
    in_order,
)
from tests.helpers.recorder import record

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


@pytest.fixture(scope="module")
def recorded():
    """What each run reads and makes."""
    with torch.no_grad():
        return {block: record(*run) for block, run in ours().items()}


def test_an_order_is_an_order_and_a_repeat_a_repeat():
    assert in_order("aab", "caacb")
    assert not in_order("aba", "caacb")
    assert not in_order("aab", "cacb")


def test_the_source_prints_95_shapes():
    counts = [sum(n == block for n, *_ in TABLE) for block in BLOCKS]
    assert counts == [2, 2, 6, 8, 12, 15, 5, 6, 8, 12, 19]
    assert len(TABLE) == 95


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS)
def test_every_printed_shape_is_in_our_run_in_the_printed_order(
    block, recorded
):
    shapes = [shape for _, shape in expected(block)]
    assert in_order(shapes, recorded[block].seen)


@pytest.mark.parametrize("block", BLOCKS)
def test_every_printed_shape_is_made_by_a_step_of_its_own(block, recorded):
    """A tensor that is read again does not count a second time."""
    rows = expected(block)
    labels = [label for label, _ in rows]
    if RETURNED[0] in labels and block != 9:
        i = labels.index(RETURNED[0])
        assert labels[i : i + 2] == RETURNED
        rows[i : i + 2] = rows[i + 1], rows[i]
    shapes = [shape for _, shape in rows]
    assert in_order(shapes, recorded[block].made)


@pytest.mark.parametrize("block", [9, 12, 15])
def test_the_printed_weights_are_weights_rows_that_sum_to_1(block, recorded):
    shape = dict(expected(block))["attn_output_weights"]
    assert set(recorded[block].weights) == {shape}


def test_a_counterpart_is_in_our_run_and_the_printed_shape_is_not(recorded):
    rows = [row for row in TABLE if row[:2] in COUNTERPARTS]
    assert len(rows) == len(COUNTERPARTS)
    for block, label, shape in rows:
        seen = recorded[block].seen
        assert shape not in seen
        assert COUNTERPARTS[block, label] in seen


@pytest.mark.parametrize("block", MODULES)
def test_each_after_in_a_block_is_the_output_of_the_module_it_names(
    block, recorded
):
    names = MODULES[block].split()
    rows = [row for row in expected(block) if row[0].startswith("after")]
    found = [row for row in recorded[block].named if row[0] in names]
    assert [name for name, _ in found] == names
    assert [shape for _, shape in found] == [shape for _, shape in rows]
