"""The properties find every bug of the gallery, and nothing else."""

import re

import pytest
from pictures.dots import dots

from gallery import bugs, by_property, plant_and_report, stored_catches
from gallery.catching import Catch
from gallery.entries import shelves
from shapewatch.properties.reporting import CHECKS
from shapewatch.tracing import Sheet
from tests.helpers.legitimate import LEGITIMATE
from tests.helpers.listings import unstyled
from tformer_lite import report, running_example, running_model

# Of all properties that find it, the one that says most about the bug.
EXPECTED = {
    "score_scale": "no_scale scaled_by_all_channels",
    "weight_rows": (
        "softmax_over_queries softmax_over_heads softmax_over_batch "
        "mask_after_softmax"
    ),
    "finite": "no_key_left loud_scores",
    "past": "mask_upside_down triangle_turned_over",
    "padding_invariance": (
        "mask_of_nearly_zero rows_hidden encoder_without_mask "
        "memory_without_mask first_word_alone padding_is_zero"
    ),
    "provenance": "heads_split_by_view heads_joined_by_view",
    "live_parameters": (
        "key_not_projected key_for_value no_output_projection "
        "embedding_cut_off norm_made_anew norm_used_twice blocks_in_a_list"
    ),
    "repeatable": "dropout_for_ever",
    "batch_independence": "attention_over_batch position_of_the_row",
    "causality": "one_step_ahead no_causal_mask roles_reversed",
    "source_coverage": (
        "memory_masked_as_target memory_masked_causally source_never_read"
    ),
    "order_sensitivity": "no_positions one_position_for_all",
    "norm_statistics": "norm_over_time norm_over_sentence norm_squared",
    "identity": "sum_ignored sublayer_twice residual_normed",
    "logits": "softmax_at_the_end",
}
# No bug of the gallery is of this kind; tests/shapewatch/properties has some.
ELSEWHERE = {"relative_positions", "cached_run", "activations", "precision"}


@pytest.mark.full
def test_what_is_stored_is_what_is_measured():
    measured, stored = plant_and_report(bugs()).rows, stored_catches().rows
    assert measured == stored, "run python book/_tools/caught.py"


def test_a_bug_is_found_by_the_property_that_it_offends():
    for name, offenders in EXPECTED.items():
        for bug in offenders.split():
            assert name in stored_catches()[bug].properties.split(", "), bug
    offenders = " ".join(EXPECTED.values()).split()
    assert sorted(offenders) == sorted(bug.name for bug in bugs())


def test_every_other_property_finds_a_bug():
    properties = {row.property for row in by_property(stored_catches()).rows}
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
    assert asked.count("<br>See whether ") == 15
    alone = Sheet([Catch("a", 0, "no check")], [])
    assert "<br></th>" in by_property(alone)._repr_html_()


def test_what_is_found_can_be_drawn():
    picture = dots(stored_catches().found, stored_catches().shelves)
    first, _, *rows = picture.text.splitlines()
    assert "(43, 15): 20 rows have one dot alone, 0 none." in first
    assert f"no_scale: {stored_catches()['no_scale'].properties}" in rows


@pytest.mark.full
@pytest.mark.parametrize("name", LEGITIMATE)
def test_a_legitimate_variant_raises_no_alarm(name):
    model, inputs = LEGITIMATE[name]()
    answer = report(model, *inputs, pad=1, unknown=0)
    assert answer.broken == [], answer
    assert "could not be asked" not in str(answer)
    held = [finding.name for finding in answer.findings if finding.holds]
    assert len(held) >= 12


@pytest.mark.slow
def test_the_right_model_has_every_property():
    findings = report(running_model(), *running_example()[:2]).findings
    odd = [finding.name for finding in findings if not finding.holds]
    assert odd == ["relative_positions", "cached_run"]
    assert all(finding.holds is not False for finding in findings)
