"""Right models of strangers raise no alarm; what is their own is unusual."""

import warnings

import pytest
import torch

from tests.helpers.strangers import CASES
from tformer_lite import report

UNUSUAL = {
    "a sink": ["weight_rows"],
    "0 at first": ["past", "order_sensitivity", "live_parameters"],
}


@pytest.mark.parametrize("name", CASES)
def test_a_right_model_of_a_stranger_raises_no_alarm(name):
    build, inputs, known = CASES[name]
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = report(build(), *inputs, **known)
    assert found.broken == [], found
    assert "could not be asked" not in str(found), found
    unusual = [f.name for f in found.findings if f.level == "unusual"]
    assert unusual == UNUSUAL.get(name, [])
