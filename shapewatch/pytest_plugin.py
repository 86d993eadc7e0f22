"""A fixture for pytest, to check a model of one's own. pytest loads this by
itself once it is installed; torch, only for a test that asks for it:

    def test_my_model(check_model):
        check_model(MyModel(), ids, pad=0)
"""

import warnings
from collections.abc import Callable
from typing import Any

import pytest


class UnusualModelWarning(UserWarning):
    """A model differs from the paper where good models do, too."""


@pytest.fixture
def check_model() -> Callable[..., Any]:
    """Run all checks on a model: check_model(model, *inputs, **options), as
    `shapewatch.report`, whose report it gives. The test fails with what is
    broken; what is unusual is a warning."""
    from shapewatch.properties import Report, report
    from shapewatch.properties.finding import of_level

    def check(model: Callable, *inputs: Any, **options: Any) -> Report:
        findings = report(model, *inputs, **options)
        if not findings.ok:
            pytest.fail(str(of_level(findings, "broken")), pytrace=False)
        if unusual := of_level(findings, "unusual").findings:
            text = "\n".join(map(str, unusual))
            warnings.warn(text, UnusualModelWarning, stacklevel=2)
        return findings

    return check
