"""A planted line runs in a copy of the model, and nowhere else."""

import inspect
import linecache
import traceback

import pytest
import torch
from torch.testing import assert_close

from gallery import bug, planted
from gallery.planting import PLACE_FILES, new_source, source
from tests.helpers.small import small
from tformer_lite import running_example, running_model
from tformer_lite.model import attention, models
from tformer_lite.parts import variants

SCALED = "scores = q @ k.mT / math.sqrt(q.shape[-1])"
JOINED = "return self.output(join_heads(heads))"


def run(model: torch.nn.Module) -> torch.Tensor:
    """The logits of the running example."""
    with torch.no_grad():
        return model(*running_example()[:2])


@pytest.mark.slow
@pytest.mark.parametrize("file", PLACE_FILES)
def test_a_copy_without_a_change_is_the_model_itself(file):
    lines = source(file).splitlines()
    line = next(x.strip() for x in lines if lines.count(x) == 1 and x.strip())
    model = planted(file, line, line).running.running_model()
    near = 1e-4 if file == "variants" else 0  # its norm is written out
    assert_close(run(model), run(running_model()), rtol=0, atol=near)


def test_the_changed_function_is_used_in_its_copy_alone():
    copy = planted("attention", SCALED, "scores = q @ k.mT * 0")
    other = planted("attention", JOINED, "return join_heads(heads)")
    q = torch.randn(2, 3, 4)
    mean = q.mean(-2, keepdim=True).expand_as(q)
    changed = copy.attention.dot_product_attention
    assert_close(changed(q, q, q), mean)
    right = attention.dot_product_attention(q, q, q)
    assert_close(other.attention.dot_product_attention(q, q, q), right)
    forward = copy.variants.MultiHeadAttention.forward
    assert forward.__globals__["dot_product_attention"] is changed
    assert copy.choices.MultiHeadAttention is copy.attention.MultiHeadAttention
    assert copy.choices.Config is models.Config
    fused = copy.choices.ATTENTIONS["fused"]
    assert fused is copy.variants.FusedAttention is not variants.FusedAttention
    linecache.checkcache()
    assert "* 0\n" in inspect.getsource(changed)
    assert "sqrt" in inspect.getsource(attention.dot_product_attention)


@pytest.mark.parametrize("name", ["paper_base", "building_blocks"])
def test_a_bug_goes_into_other_models_as_well(name):
    config = small(name, vocab_size=1024, src_vocab_size=1024)
    model = bug("no_scale").model(config)
    right = running_model(config)
    assert_close(model.state_dict(), right.state_dict(), rtol=0, atol=0)
    assert not torch.allclose(run(model), run(right))


@pytest.mark.parametrize(
    ("file", "line", "says"),
    [
        ("attention", "scores = q @ k.mT / math.sqrt(d)", "has no line"),
        ("masks", "    return seen[None, None]", "has no line"),
        ("plot", "", "file='plot' is none of attention, "),
    ],
)
def test_a_line_that_is_not_there_is_refused(file, line, says):
    with pytest.raises(ValueError, match=says):
        planted(file, line, "pass")


def test_a_line_that_stands_in_both_blocks_is_replaced_in_both():
    line = "x = x + self.dropout(self.self_attention(first(x), mask=mask))"
    assert line not in new_source("models", line, "planted = True")
    assert new_source("models", line, "planted").count("planted\n") == 2


def test_a_traceback_shows_the_changed_line():
    wrong = f"{JOINED} + missing"
    model = planted("attention", JOINED, wrong).running.running_model()
    with pytest.raises(NameError) as caught:
        run(model)
    assert wrong in "".join(traceback.format_exception(caught.value))


def test_a_trace_shows_the_changed_line_with_its_shapes():
    copy = planted("attention", SCALED, "scores = q @ k.mT")
    trace = copy.running.running_trace()
    function = copy.attention.dot_product_attention
    lines = str(trace.source(function, "encoder.blocks.0.self_attention"))
    shown = [line for line in lines.splitlines() if "scores = q" in line]
    assert ["q @ k.mT  " in line for line in shown] == [True]
    assert "(B, H, S, S)" in shown[0]
