"""Checks never raise for a broken model."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from shapewatch.properties import causality
from shapewatch.properties.reporting import CHECKS
from tformer_lite import report, running_example, running_model

ROWS = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))
PAIR = running_example()[:2]


def crash(x):
    """A model that does not run."""
    raise ZeroDivisionError("too many cooks\nand more")


WRONG = {
    "crashes": crash,
    "gives nothing": lambda x: None,
    "drops rows": lambda x: x[:, :3],
    "gives NaN": lambda x: x * torch.nan,
    "gives a number": lambda x: x[0, 0, 0],
    "gives a list": lambda x: x.tolist(),
    "does not fit": nn.Linear(3, 3),
    "mixes nothing": nn.ReLU(),
}


@pytest.mark.parametrize("model", WRONG.values(), ids=WRONG)
def test_whatever_the_model_does_there_is_a_report(model):
    found = report(model, ROWS)
    assert len(found.findings) == len(CHECKS)
    assert all(finding.says for finding in found.findings)


def test_a_model_that_does_not_run_is_broken_and_says_how():
    found = report(crash, ROWS)
    assert {"causality", "finite", "past"} <= set(found.broken)
    says = found["causality"].says
    line = r'raise ZeroDivisionError("too many cooks\nand more")'
    assert says == (
        "The model does not run: ZeroDivisionError: too many cooks, "
        f"at test_broken.py:{crash.__code__.co_firstlineno + 2}: {line}"
    )
    assert str(found) == f"model               ✗ broken      {says}"
    fails = "The model fails: ZeroDivisionError: too many cooks"
    assert causality(crash, ROWS).says == fails


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_check_says_the_same_where_gradients_are_switched_off(check):
    model = running_model()
    with torch.no_grad():
        found = check(model, *PAIR)
        assert found == check(model, *PAIR)
        assert found.holds is not False


def test_a_shift_of_all_channels_would_hide_behind_a_norm():
    norm = nn.LayerNorm(12)
    leaks = lambda x: x + norm(x.roll(-1, 1))  # noqa: E731
    assert_close(leaks(ROWS + 1), leaks(ROWS) + 1)
    assert causality(leaks, ROWS).holds is False


def test_a_report_can_be_read_without_style_or_script():
    def crash(x):
        raise ValueError("<b>no</b>")

    found = report(crash, ROWS)
    text, page = str(found), found._repr_html_()
    assert text.count("✗ broken") == page.count("✗") == 1
    assert "<b>no</b>" in text
    assert "&lt;b&gt;no" in page
    assert "<b>" not in page
