"""A kept value is found by its module's path and its variable."""

import pytest
import torch
from torch.testing import assert_close

from tformer_lite import (
    EncoderDecoder,
    running_example,
    tiny_translator,
    trace,
)

CROSS = "decoder.blocks.0.cross_attention"


@pytest.fixture(scope="module")
def seen():
    torch.manual_seed(0)
    src, tgt, *_ = running_example()
    return trace(EncoderDecoder(tiny_translator), src, tgt, keep=True)


def test_a_name_that_was_bound_twice_is_told_apart_by_a_number(seen):
    with pytest.raises(ValueError, match="scores' was bound 2 times"):
        seen[f"{CROSS}:scores"]
    raw, masked = seen[f"{CROSS}:scores", 0], seen[f"{CROSS}:scores", 1]
    assert raw.isfinite().all()
    assert_close(raw, seen.attention()[2].scores)
    assert_close(masked, seen.attention()[2].masked)
    with pytest.raises(ValueError, match="bound 2 times, not 3"):
        seen[f"{CROSS}:scores", 2]


def test_what_was_not_kept_or_is_not_there_says_so(seen):
    with pytest.raises(KeyError, match="no line binds .*there are .*weights"):
        seen[f"{CROSS}:wieghts"]
    with pytest.raises(KeyError, match="no line binds 'nowhere:x'"):
        seen["nowhere:x"]
    src, tgt, *_ = running_example()
    model = EncoderDecoder(tiny_translator)
    bare = trace(model, src, tgt, keep=f"{CROSS}:top")
    with pytest.raises(KeyError, match="weights' was not kept: trace with"):
        bare[f"{CROSS}:weights"]
