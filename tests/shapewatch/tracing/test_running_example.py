"""A trace of the running example: every call, every axis by its name; data
types and devices where they change; and documented names alone."""

import re
from itertools import groupby

import pytest
import torch

from shapewatch.tracing import Diff
from tests.helpers.listings import elements, letters, text_of
from tests.helpers.translators import DIMS, translator
from tformer_lite import trace


@pytest.fixture(scope="module")
def seen():
    return trace(build=translator, dims=DIMS, keep=True)


def test_cross_attention_tells_t_from_s_though_both_are_8(seen):
    text = str(seen.at("decoder.blocks.0.cross_attention"))
    assert "(B, H, T, D), (B, H, D, S) -> (B, H, T, S)" in text
    assert "(B, H, T, S), (B, H, S, D) -> (B, H, T, D)" in text
    own = str(seen.at("decoder.blocks.0.self_attention"))
    assert "(B, H, T, D), (B, H, D, T) -> (B, H, T, T)" in own


def test_every_axis_is_proved_and_sizes_are_the_measured_ones(seen):
    for step, (reads, makes) in zip(seen.steps, seen.axes, strict=True):
        marks, shapes = [*step.reads, *step.makes], [*reads, *makes]
        for mark, axes in zip(marks, shapes, strict=True):
            assert tuple(axis.size for axis in axes) == mark.shape
            assert {axis.proof for axis in axes} <= {"proved"}


def test_a_path_that_is_not_there_names_those_that_are(seen):
    with pytest.raises(KeyError, match="'tail'.*encoder.blocks.0"):
        seen.at("tail")


def test_the_html_is_a_table_with_headers(seen):
    page = elements(letters(seen.calls()._repr_html_()))
    headers = [(x.get("scope"), text_of(x)) for x in page.iter("th")]
    columns = [("col", name) for name in ("call", "inputs", "output")]
    rows = seen.calls().rows
    paths = [path for path, _ in groupby(row.path for row in rows)]
    assert headers == columns + [("rowgroup", path) for path in paths]
    calls = [text_of(code) for code in page.iter("code")]
    assert calls == [row.call for row in rows]
    assert "(B, H, T, S)" in [text_of(cell) for cell in page.iter("td")]


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="give a model: NoneType"):
        trace(dims=DIMS)


def test_at_a_prompt_each_answer_shows_itself_and_no_address(seen):
    code = type(seen.model).forward
    for shown in (seen, seen.calls(), seen.source(code), seen.parameters()):
        assert repr(shown) == str(shown)
        assert "0x" not in repr(shown)


X, IDS = torch.randn(3, 4), torch.tensor([[0, 1, 2]])


@pytest.mark.parametrize(
    ("function", "inputs", "types"),
    [
        (lambda x: x + 1, [X], ""),
        (lambda x: x > 0, [X], "bool"),
        (lambda ids, x: x[ids], [IDS, X], ""),
        (lambda ids: ids.float(), [IDS], "float32"),
        (lambda x: x.to("meta", torch.int8), [X], "int8 on meta"),
        (lambda x: x.masked_fill(x.bool(), 0), [X.bool()], ""),
    ],
)
def test_what_comes_out_is_named_where_nothing_like_it_went_in(
    function, inputs, types
):
    assert trace(function, *inputs).calls().rows[-1].types == (types,)


def test_each_of_several_outputs_has_its_own():
    seen = trace(lambda x: x.max(-1), X)
    assert seen.calls().rows[0].types == ("", "int64")
    assert str(seen).endswith("-> (3?), (3?) int64")
    assert "</span>, <span" in seen._repr_html_()
    assert "</span> int64" in seen._repr_html_()


PUBLIC = {
    "Trace": "at attention axes calls first_nan flops "
    "inputs model notes parameters result sizes source steps tree",
    "Step": "call code function line makes name place reads turn visit",
    "Table": "at notes rows",
    "Row": "call expression inputs makes outputs path reads types variable",
    "Tree": "depth more notes",
    "Sheet": "headers notes rows",
    "AnnotatedSource": "",
    "Diff": "notes",
    "Axis": "name proof size",
    "Attention": "axes keys masked mixed path queries scores values weights",
}


def test_nothing_inside_shows_beside_what_is_documented(seen):
    """What completion offers: each is a documented method, or is named in
    the docstring of the class or of what it is a kind of."""
    things = [seen, seen.steps[0], seen.calls(), seen.tree()]
    things += [seen.calls().rows[0], seen.parameters(), Diff("a", "b")]
    things += [seen.source(type(seen.model)), seen.axes[-1][0][0][0]]
    things += [seen.attention()[0]]
    assert {type(thing).__name__ for thing in things} == {*PUBLIC}
    for thing in things:
        kind, tuples = type(thing), {*dir(tuple)}
        shown = [x for x in dir(thing) if x[0] != "_" and x not in tuples]
        assert shown == sorted(PUBLIC[kind.__name__].split())
        texts = " ".join(x.__doc__ or "" for x in kind.__mro__[:-1])
        told = {*re.findall(r"`(\w+)", texts)}
        assert [
            name
            for name in shown
            if name not in told and not getattr(kind, name, None).__doc__
        ] == []
