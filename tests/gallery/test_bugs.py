"""Each bug of the gallery is one line, runs, and keeps the shapes."""

import re
from functools import cache
from html import unescape

import pytest
import torch
from torch.testing import assert_close

from gallery import bug, bugs, changed_shapes, example_shapes
from gallery.planting import source
from tests.helpers.listings import LEFT, unstyled
from tformer_lite import running_example, running_model

ALL = pytest.mark.parametrize("name", [bug.name for bug in bugs()])
# What they spoil does not show in the logits of the running example.
SILENT = {
    "no_key_left": "no sentence of it is padding alone",
    "loud_scores": "no score of it is large",
    "embedding_cut_off": "only the gradients are lost",
}


@cache
def logits(name: str | None = None) -> torch.Tensor:
    """What a bug's model makes of the example; without a name, the right."""
    model = bug(name).model() if name else running_model()
    torch.manual_seed(0)
    with torch.no_grad():
        return model(*running_example()[:2])


def test_there_are_at_least_thirty_and_no_two_are_the_same():
    assert len(bugs()) >= 30
    for field in ("name", "says", "wrong", "incident"):
        values = [getattr(bug, field) for bug in bugs()]
        repeated = {x for x in values if values.count(x) > 1}
        assert not repeated - {f"source 00{n}" for n in range(5)}


@ALL
def test_it_replaces_a_line_and_shows_where_it_happened(name):
    entry = bug(name)
    lines = [line.strip() for line in source(entry.file).splitlines()]
    assert lines.count(entry.right) in (1, 2)  # one line, or in both blocks
    assert entry.wrong not in (entry.right, "")
    assert "\n" not in entry.wrong
    html = entry._repr_html_()
    assert html.count("<pre") == html.count(LEFT) == 2
    plain = unescape(re.sub("<.*?>", "", unstyled(html)))
    for field in "name", "says", "right", "wrong", "incident":
        part = getattr(entry, field)
        assert part in str(entry)
        assert part in plain
    assert entry.link in html
    github = entry.link.startswith("https://github.com/")
    assert github or "source" in str(entry)


@ALL
def test_its_logits_are_wrong_or_we_say_why_not(name):
    assert logits(name).shape == logits().shape
    assert logits(name).isfinite().all()
    same = torch.allclose(logits(name), logits(), rtol=1e-5, atol=1e-5)
    assert same == (name in SILENT)


@pytest.mark.slow
@ALL
def test_it_has_the_weights_of_the_running_model(name):
    right = running_model().state_dict()
    mine = bug(name).model().state_dict()
    lost = {key for key in right if ".blocks." in key}
    expected = right.keys() - (lost if name == "blocks_in_a_list" else set())
    assert mine.keys() == expected
    assert_close(mine, {key: right[key] for key in mine}, rtol=0, atol=0)


@pytest.mark.slow
def test_one_of_them_alone_changes_a_shape_on_the_way():
    right = example_shapes(running_model())
    mine = {bug.name: example_shapes(bug.model()) for bug in bugs()}
    changed = {name: changed_shapes(mine[name], right) for name in mine}
    tell = [name for name in changed if changed[name]]
    assert tell == ["attention_over_batch"]
    names = {name.split(":")[1] for name in changed[tell[0]]}
    assert names == {"scores", "weights"}
    assert right["head"] == right[""] == (2, 8, 1024)
    assert right["decoder.blocks.0.cross_attention:q"] == (2, 3, 8, 4)


def test_the_words_are_cut_off_from_their_gradient():
    model = bug("embedding_cut_off").model()
    model(*running_example()[:2]).square().sum().backward()
    assert model.src_embedding.tokens.weight.grad is None


def test_an_unknown_name_is_answered_with_the_known():
    with pytest.raises(ValueError, match="'bugg' is none of no_scale, "):
        bug("bugg")
