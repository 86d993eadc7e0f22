"""Every shape that source 003 prints, in traces of its own parts.

The source prints after 11 of its codeblocks; the labels are its own. Chapter
16 finds the same 95 shapes in a run of ours.
"""

from functools import partial

import pytest
import torch

from tests.helpers import source_003
from tests.helpers.printed_003 import TABLE
from tformer_lite import trace

PRINTED: dict[int, list] = {}
for number, _, printed_shape in TABLE:
    PRINTED.setdefault(number, []).append(printed_shape)


def words_003():
    return torch.randint(0, 100, (1, 200))


def x(channels=512):
    return torch.randn(1, 200, channels)


@pytest.fixture(scope="module")
def parts():
    """For each codeblock the source's own part, and inputs for it."""
    torch.manual_seed(0)
    model = source_003.Translator()
    reader, writer = model.readers[0], model.writers[0]
    attend = partial(writer.self_attention.attention, masked=True)
    return {
        4: (model.src_words, words_003()),
        5: (model.tgt_words, words_003()),
        7: (model.waves,),
        9: (attend, x(64), x(64), x(64)),
        12: (reader.self_attention, x()),
        15: (writer.cross_attention, x(), x()),
        17: (reader.feed_forward, x()),
        19: (reader.norms[0], x()),
        21: (reader, x()),
        23: (writer, x(), x()),
        26: (model, words_003(), words_003()),
    }


def in_order(wanted, shapes) -> bool:
    """Whether all that is wanted is there, one after the other."""
    rest = iter(shapes)
    return all(shape in rest for shape in wanted)


def test_the_source_prints_95_shapes():
    counts = [len(shapes) for shapes in PRINTED.values()]
    assert counts == [2, 2, 6, 8, 12, 15, 5, 6, 8, 12, 19]
    assert len(TABLE) == 95


@pytest.mark.slow
@pytest.mark.parametrize("block", PRINTED)
def test_a_trace_has_every_printed_shape_in_the_printed_order(block, parts):
    """Of the inputs, and of what each step reads and makes."""
    part, *inputs = parts[block]
    with torch.no_grad():
        steps = trace(part, *inputs).steps
    marks = inputs + [x for s in steps for x in (*s.reads, *s.makes)]
    assert in_order(PRINTED[block], [tuple(x.shape) for x in marks])
