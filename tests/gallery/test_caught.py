"""The properties find every bug of the gallery, and nothing else."""

import re

import pytest
import torch

from gallery import bugs, by_property, plant_and_report, stored_catches
from gallery.catching import Catch
from gallery.entries import shelves
from shapewatch.properties.reporting import CHECKS
from shapewatch.tracing import Sheet
from tests.helpers.legitimate import LEGITIMATE
from tests.helpers.listings import unstyled
from tformer_lite import report

# No bug of the gallery is of this kind; tests/shapewatch/properties has some.
ELSEWHERE = {"relative_positions", "cached_run", "activations", "precision"}


@pytest.mark.full
def test_what_is_stored_is_what_is_measured():
    measured, stored = plant_and_report(bugs()).rows, stored_catches().rows
    assert measured == stored, "run python book/_tools/caught.py"


def test_every_bug_is_found_and_every_other_property_finds_one():
    properties = {row.property for row in by_property(stored_catches()).rows}
    assert [
        row.bug for row in stored_catches().rows if not row.properties
    ] == []
    assert properties == {check.__name__ for check in CHECKS} - ELSEWHERE


def test_a_property_alone_is_the_only_one_that_finds_a_bug():
    rows = [
        Catch("a", 0, "past"),
        Catch("b", 0, "past, logits"),
        Catch("c", 1, "past"),
    ]
    table = by_property(Sheet(rows, [])).rows
    assert table == [("past", 3, "a, c"), ("logits", 1, "–")]


def test_the_table_shows_each_bug_on_its_shelf():
    html = unstyled(stored_catches()._repr_html_())
    titles = re.findall(r'colspan="3">(.*?)<', html)
    assert titles == [*stored_catches().shelves.values()] == list(shelves())
    scores, *_, last = html.split("<tbody>")[1:]
    assert "<td>0</td><td>score_<wbr>scale<" in scores
    assert "no_scale" not in last
    assert "rowgroup" not in unstyled(
        by_property(stored_catches())._repr_html_()
    )


def test_a_bug_stands_with_what_it_is_and_a_property_with_what_it_asks():
    row = stored_catches()._repr_html_().split("roles_reversed")[1]
    assert "The source asks, and the target answers." in row
    assert 'issues/2">rexrex9/nlp_torchtext#2</a>' in row
    assert "self.cross_attention(memory, second(x)" in row.split("</th>")[0]
    asked = unstyled(by_property(stored_catches())._repr_html_())
    assert asked.count("<br>Check that ") == 15
    alone = Sheet([Catch("a", 0, "no check")], [])
    assert "<br></th>" in by_property(alone)._repr_html_()


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", LEGITIMATE)
def test_a_legitimate_variant_raises_no_alarm(name, dtype):
    model, inputs = LEGITIMATE[name]()
    model = model.to(getattr(torch, dtype))
    answer = report(model, *inputs, pad=1, unknown=0)
    assert answer.broken == [], answer
    assert "could not be checked" not in str(answer)
    held = [finding.name for finding in answer.findings if finding.holds]
    assert len(held) >= 12
