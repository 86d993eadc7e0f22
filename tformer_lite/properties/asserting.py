"""Assertions: one for each property, for tests of one's own model."""

from collections.abc import Callable
from typing import Any

from tformer_lite.properties import (
    attention,
    future,
    hearing,
    learning,
    norms,
    numbers,
    structure,
)
from tformer_lite.properties.finding import Finding
from tformer_lite.properties.results import NotJudgedError


def asserted(check: Callable[..., Finding]) -> Callable[..., None]:
    """Make an assertion of a check."""

    def ask(model: Callable, *inputs: Any, **known: Any) -> None:
        __tracebackhide__ = True  # pytest shows the test's line
        finding = check(model, *inputs, **known)
        if finding.holds is None:
            raise NotJudgedError(str(finding))
        if not finding.holds:
            raise AssertionError(str(finding))

    ask.__name__ = ask.__qualname__ = f"assert_{check.__name__}"
    ask.__module__ = __name__
    ask.__doc__ = f"""Assert what `{check.__name__}` asks of a model.

    The model and its inputs are as in `report`, and so are pad, unknown,
    causal, positions and output. AssertionError with what was seen, unless
    the property holds; NotJudgedError with the reason, where it cannot be
    judged: such a test has asserted nothing.
    """
    return ask


assert_batch_independence = asserted(hearing.batch_independence)
assert_causal = asserted(future.causality)
assert_finite = asserted(numbers.finite)
assert_identity = asserted(structure.identity)
assert_live_parameters = asserted(learning.live_parameters)
assert_logits = asserted(numbers.logits)
assert_norm_statistics = asserted(norms.norm_statistics)
assert_order_sensitivity = asserted(hearing.order_sensitivity)
assert_padding_invariance = asserted(hearing.padding_invariance)
assert_past = asserted(hearing.past)
assert_provenance = asserted(attention.provenance)
assert_repeatable = asserted(numbers.repeatable)
assert_score_scale = asserted(attention.score_scale)
assert_source_coverage = asserted(hearing.source_coverage)
assert_source_dependence = asserted(hearing.source_dependence)
assert_unknown_words = asserted(hearing.unknown_words)
assert_weight_rows = asserted(attention.weight_rows)
