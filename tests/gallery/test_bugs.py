"""Each bug of the gallery is one line, runs, and keeps the shapes."""

import re
from functools import cache
from html import unescape

import pytest
import torch

from tests.helpers.listings import unstyled
from tformer_lite import bug, bugs, running_example, running_model
from tformer_lite.gallery import changed_shapes, example_shapes
from tformer_lite.gallery.planting import source

ALL = pytest.mark.parametrize("name", [bug.name for bug in bugs()])
# What they spoil does not show in the logits of the running example.
SILENT = {
    "no_key_left": "no sentence of it is padding alone",
    "loud_scores": "no score of it is large",
    "embedding_cut_off": "only the gradients are lost",
    "norm_made_anew": "the gains have not been trained yet",
    "norm_used_twice": "the norms have not been trained yet",
    "blocks_in_a_list": "only the parameters are lost",
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
        found = [getattr(bug, field) for bug in bugs()]
        repeated = {x for x in found if found.count(x) > 1}
        sources = {f"source 00{n}" for n in range(5)}
        assert not repeated - sources


@ALL
def test_the_line_that_it_replaces_stands_in_the_source(name):
    one = bug(name)
    lines = [line.strip() for line in source(one.file).splitlines()]
    assert lines.count(one.right) in (1, 2)  # one line, or in both blocks
    assert one.wrong not in (one.right, "")
    assert "\n" not in one.wrong


@pytest.mark.slow
@ALL
def test_it_gives_logits_of_the_right_shape_and_finite(name):
    assert logits(name).shape == logits().shape
    assert logits(name).isfinite().all()


@ALL
def test_its_logits_are_wrong_or_we_say_why_not(name):
    same = torch.allclose(logits(name), logits(), rtol=0, atol=1e-6)
    assert same == (name in SILENT)


@pytest.mark.slow
def test_one_of_them_alone_changes_a_shape_on_the_way():
    right = example_shapes(running_model())
    mine = {bug.name: example_shapes(bug.model()) for bug in bugs()}
    found = {name: changed_shapes(mine[name], right) for name in mine}
    tell = [name for name in found if found[name]]
    assert tell == ["attention_over_batch"]
    assert {name.split(":")[1] for name in found[tell[0]]} == {
        "scores",
        "weights",
    }


def test_shapes_are_those_that_pytorch_gives():
    model, example = running_model(), running_example()
    found = example_shapes(model)
    assert found["head"] == found[""] == model(*example[:2]).shape
    assert found["encoder"] == model.encode(example.src).shape
    assert found["decoder.blocks.0.cross_attention:scores"] == (2, 3, 8, 8)
    assert found["decoder.blocks.0.cross_attention:q"] == (2, 3, 8, 4)
    paths = {path for path, _ in model.named_modules()}
    containers = {path for path in paths if path.endswith(("blocks", "norms"))}
    ran = {path.partition("#")[0] for path in found if ":" not in path}
    assert ran == paths - containers


def test_a_sentence_of_padding_alone_is_what_no_key_left_fails_on():
    src, tgt, *_ = running_example()
    src = torch.ones_like(src)
    assert running_model()(src, tgt).isfinite().all()
    assert bug("no_key_left").model()(src, tgt).isnan().any()


def test_the_words_are_cut_off_from_their_gradient():
    for model in (running_model(), bug("embedding_cut_off").model()):
        model(*running_example()[:2]).square().sum().backward()
        grad = model.src_embedding.tokens.weight.grad
        assert (grad is None) != isinstance(model, type(running_model()))


@ALL
def test_it_shows_its_lines_and_where_it_happened(name):
    one = bug(name)
    html = one._repr_html_()
    plain = unescape(re.sub("<.*?>", "", unstyled(html)))
    for part in (one.name, one.says, one.right, one.wrong, one.incident):
        assert part in str(one)
        assert part in plain
    assert one.link in html
    assert one.link.startswith("https://github.com/") or "source" in str(one)


def test_an_unknown_name_is_answered_with_the_known():
    with pytest.raises(ValueError, match="'bugg' is none of no_scale, "):
        bug("bugg")
