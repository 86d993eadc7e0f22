"""What prose leaves to the run is filled in, or the build fails."""

import json
import re

import pytest
import roles
import shapes
from repository import addresses

from tests.helpers.project import ROOT
from tformer_lite import running_trace

BOOK = ROOT / "book"


def said(text: str) -> str:
    """A text with its roles filled in, without colours and names."""
    filled = roles.with_words(text, BOOK)
    return re.sub(r"</?(?:b|data)\b[^>]*>", "", filled)


@pytest.mark.slow
def test_the_recorded_shapes_are_those_of_the_run():
    """`make notebooks` writes book/shapes.json anew."""
    written = json.loads((BOOK / "shapes.json").read_text())
    assert written == shapes.shapes_data(running_trace())


def test_shapes_sizes_and_counts_are_the_measured_ones():
    assert said("{axes}`scores` is {sizes}`scores`.") == (
        "(B, H, T, S) is (2, 3, 8, 8)."
    )
    assert said("{axes}`causal mask`") == "(1, 1, T, T)"
    assert said("{axes}`decoder.blocks.0.cross_attention:q`") == "(B, H, T, D)"
    assert said("{sizes}`q[0, 1]` @ {sizes}`k.mT[0, 1]`") == "(8, 4) @ (4, 8)"
    assert said("{size}`V` words, {count}`.` in all") == (
        "1,024 words, 41,256 in all"
    )


@pytest.mark.parametrize("role", ["axes", "sizes", "size", "count", "axis"])
def test_a_name_that_does_not_exist_stops_the_build(role):
    with pytest.raises(roles.UnknownNameError, match="there is no .* 'skores"):
        roles.with_words(f"{{{role}}}`skores`", BOOK)


def test_a_source_is_cited_in_full_with_its_link():
    text = said("{cite}`vaswani2017` and {cite}`ba2016`")
    paper = "[Attention Is All You Need](https://arxiv.org/abs/1706.03762)"
    assert text.startswith(f"Vaswani and others, {paper}, NeurIPS, 2017 and")
    assert "Ba and others, [Layer Normalization](" in text
    with pytest.raises(roles.UnknownNameError, match="no source 'vaswani'"):
        said("{cite}`vaswani`")


def test_a_term_has_a_full_link_to_the_glossary_and_another_fails():
    site = addresses(ROOT)[1]
    place = f"{site}/book/glossary.html#term-causal-mask"
    link = f'<a class="term" href="{place}">'
    assert said("{term}`causal mask`") == f"{link}causal mask</a>"
    assert said("{term}`hidden future <causal mask>`") == (
        f"{link}hidden future</a>"
    )
    with pytest.raises(roles.UnknownNameError, match="no term 'causal'"):
        said("{term}`causal`")


def test_the_page_of_references_has_every_source():
    page = (BOOK / "references.md").read_text()
    assert re.findall("{cite}`(.*?)`", page) == sorted(roles.references(BOOK))
