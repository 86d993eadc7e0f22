"""All that source 003 prints, from a trace of it, and from one of ours."""

import re
from functools import partial

import pytest
import torch

from shapewatch.tracing.tables import WIDTH
from tests.helpers import source_003
from tests.helpers.ours_003 import ours, words_003, x
from tests.helpers.printed_003 import BLOCKS, TABLE, expected, in_order
from tformer_lite import print_shapes, trace


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


def traced(call, *inputs):
    """The shape of each input, and of all that each step reads and makes."""
    with torch.no_grad():
        steps = trace(call, *inputs).steps
    both = [mark for step in steps for mark in (*step.reads, *step.makes)]
    return [tuple(one.shape) for one in (*inputs, *both)]


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS)
def test_a_trace_has_every_printed_shape_in_the_printed_order(block, theirs):
    shapes = [shape for _, shape in expected(block)]
    assert in_order(shapes, traced(*ours()[block]))
    printed = [shape for n, _, shape in TABLE if n == block]
    assert in_order(printed, traced(*theirs[block]))


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS)
def test_printing_live_says_what_the_source_prints(block, theirs, capsys):
    part, *inputs = theirs[block]
    module = getattr(part, "func", part)
    with torch.no_grad(), print_shapes(module, calls=True):
        part(*inputs)
    lines = capsys.readouterr().out.splitlines()
    printed = " ".join(line[WIDTH + 4 :] for line in lines)  # no calls
    found = [tuple(one.shape) for one in inputs]
    for sizes in re.findall(r"\(([\d, ]+)\)", printed):
        found.append(tuple(map(int, re.findall(r"\d+", sizes))))
    wanted = [shape for n, _, shape in TABLE if n == block]
    assert in_order(wanted, found)
