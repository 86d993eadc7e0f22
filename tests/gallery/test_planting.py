"""A planted line runs in a copy of the model, and nowhere else."""

import traceback

import pytest
import torch
from torch.testing import assert_close

from tests.helpers.small import small
from tformer_lite import running_example, running_model
from tformer_lite.gallery import bug, planted
from tformer_lite.gallery.planting import new_source, source
from tformer_lite.model import attention, models

SCALED = "scores = q @ k.mT / math.sqrt(q.shape[-1])"
JOINED = "return self.output(join_heads(heads))"


def run(model: torch.nn.Module) -> torch.Tensor:
    """The logits of the running example."""
    with torch.no_grad():
        return model(*running_example()[:2])


def test_the_module_is_untouched():
    before, text = run(running_model()), source("attention")
    wrong = bug("no_scale").model()
    assert not torch.equal(run(wrong), before)
    assert_close(run(running_model()), before, rtol=0, atol=0)
    assert source("attention") == text
    assert type(wrong) is not models.EncoderDecoder


def test_the_changed_function_is_used_wherever_the_file_is_imported():
    copy = planted("attention", SCALED, "scores = q @ k.mT * 0")
    changed = copy.attention.dot_product_attention
    assert (
        copy.variants.MultiHeadAttention.forward.__globals__[
            "dot_product_attention"
        ]
        is changed
    )
    assert copy.choices.MultiHeadAttention is copy.attention.MultiHeadAttention
    assert copy.choices.Config is models.Config
    assert attention.dot_product_attention is not changed


@pytest.mark.parametrize("name", ["paper_base", "building_blocks"])
def test_a_bug_goes_into_other_models_as_well(name):
    config = small(name, vocab_size=1024, src_vocab_size=1024)
    model = bug("no_scale").model(config)
    right = running_model(config)
    assert_close(model.state_dict(), right.state_dict(), rtol=0, atol=0)
    assert not torch.allclose(run(model), run(right))


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("attention", "scores = q @ k.mT / math.sqrt(d)"),
        ("masks", "    return seen[None, None]"),
    ],
)
def test_a_line_that_is_not_there_is_refused(file, line):
    with pytest.raises(ValueError, match=f"{file}.py has no line "):
        planted(file, line, "pass")


def test_a_line_that_stands_in_both_blocks_is_replaced_in_both():
    line = "x = x + self.dropout(self.self_attention(first(x), mask=mask))"
    assert line not in new_source("models", line, "planted = True")
    assert new_source("models", line, "planted").count("planted\n") == 2


def test_an_unknown_file_is_answered_with_the_known():
    with pytest.raises(ValueError, match="file='plot' is none of attention, "):
        planted("plot", "", "")


def test_a_traceback_shows_the_changed_line():
    wrong = f"{JOINED} + missing"
    model = planted("attention", JOINED, wrong).running.running_model()
    with pytest.raises(NameError) as caught:
        run(model)
    assert wrong in "".join(traceback.format_exception(caught.value))


def test_a_trace_shows_the_changed_line_with_its_shapes():
    copy = planted("attention", SCALED, "scores = q @ k.mT")
    seen = copy.running.running_trace()
    function = copy.attention.dot_product_attention
    lines = str(seen.source(function, "encoder.blocks.0.self_attention"))
    shown = [line for line in lines.splitlines() if "scores = q" in line]
    assert ["q @ k.mT  " in line for line in shown] == [True]
    assert "(B, H, S, S)" in shown[0]
