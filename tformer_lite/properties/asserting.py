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


# Assert what `batch_independence` asks of a model.
assert_batch_independence = asserted(hearing.batch_independence)
# Assert what `causality` asks of a model.
assert_causal = asserted(future.causality)
# Assert what `finite` asks of a model.
assert_finite = asserted(numbers.finite)
# Assert what `identity` asks of a model.
assert_identity = asserted(structure.identity)
# Assert what `live_parameters` asks of a model.
assert_live_parameters = asserted(learning.live_parameters)
# Assert what `logits` asks of a model.
assert_logits = asserted(numbers.logits)
# Assert what `norm_statistics` asks of a model.
assert_norm_statistics = asserted(norms.norm_statistics)
# Assert what `order_sensitivity` asks of a model.
assert_order_sensitivity = asserted(hearing.order_sensitivity)
# Assert what `padding_invariance` asks of a model.
assert_padding_invariance = asserted(hearing.padding_invariance)
# Assert what `past` asks of a model.
assert_past = asserted(hearing.past)
# Assert what `provenance` asks of a model.
assert_provenance = asserted(attention.provenance)
# Assert what `repeatable` asks of a model.
assert_repeatable = asserted(numbers.repeatable)
# Assert what `score_scale` asks of a model.
assert_score_scale = asserted(attention.score_scale)
# Assert what `source_coverage` asks of a model.
assert_source_coverage = asserted(hearing.source_coverage)
# Assert what `source_dependence` asks of a model.
assert_source_dependence = asserted(hearing.source_dependence)
# Assert what `unknown_words` asks of a model.
assert_unknown_words = asserted(hearing.unknown_words)
# Assert what `weight_rows` asks of a model.
assert_weight_rows = asserted(attention.weight_rows)
