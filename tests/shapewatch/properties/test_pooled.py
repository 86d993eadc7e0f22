"""Models that give one output for a whole sequence."""

import pytest

from shapewatch.properties import causality, past, report
from tests.helpers.pooled import (
    PAD,
    RIGHT,
    WRONG,
    Classifier,
    sentences_of_ids,
)

CHECKS = {
    "padding": "padding_invariance",
    "batch": "batch_independence",
    "order": "order_sensitivity",
}


@pytest.mark.full
@pytest.mark.parametrize("known", [{"pad": PAD}, {}], ids=["pad", "no pad"])
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_one_is_not_called_broken(name, known):
    found = report(RIGHT[name](), sentences_of_ids(), **known)
    assert found.ok, found


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_broken_one_is_found_out(name):
    build, which = WRONG[name]
    found = report(build(), sentences_of_ids(), pad=PAD)
    assert CHECKS[which] in found.broken, found


def test_whom_a_position_hears_is_not_asked():
    for check in causality, past:
        finding = check(Classifier(), sentences_of_ids(), pad=PAD)
        assert finding.holds is None
        assert finding.says.startswith("There is one output for a whole")
