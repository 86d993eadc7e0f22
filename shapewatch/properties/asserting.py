"""Assertions: one for each property, for tests of one's own model."""

from collections.abc import Callable
from typing import Any

from shapewatch.properties import (
    attention,
    beginning,
    caching,
    counted,
    dropping,
    future,
    generating,
    heads,
    hearing,
    learning,
    losses,
    matrices,
    norms,
    numbers,
    rotations,
    slopes,
    softmax,
    sources,
    structure,
    vocabulary,
)
from shapewatch.properties.finding import Finding
from shapewatch.properties.results import NotJudgedError
from shapewatch.properties.subject import subject_of


def asserted(check: Callable[..., Finding]) -> Callable[..., None]:
    """Make an assertion of a check."""

    def ask(model: Callable, *inputs: Any, **known: Any) -> None:
        __tracebackhide__ = True  # pytest shows the test's line
        subject = subject_of(model, inputs, known)  # raises for other names
        with subject.state:
            finding = check(subject)
        if finding.holds is None:
            raise NotJudgedError(str(finding))
        if not finding.holds:
            raise AssertionError(str(finding))

    ask.__name__ = ask.__qualname__ = f"assert_{check.__name__}"
    ask.__module__ = __name__
    ask.__doc__ = f"""Assert what `{check.__name__}` asks of a model.

    The model and its inputs are as in `report`, and so are pad, unknown,
    causal, positions, output and loss. AssertionError with what was seen,
    unless the property holds; NotJudgedError with the reason, where it cannot
    be judged: such a test has asserted nothing. TypeError for a name that is
    neither an option nor an input.
    """
    return ask


# Assert what `activations` asks of a model.
assert_activations = asserted(matrices.activations)
# Assert what `batch_independence` asks of a model.
assert_batch_independence = asserted(hearing.batch_independence)
# Assert what `cached_run` asks of a model.
assert_cached_run = asserted(caching.cached_run)
# Assert what `causality` asks of a model.
assert_causal = asserted(future.causality)
# Assert what `distinct_heads` asks of a model.
assert_distinct_heads = asserted(heads.distinct_heads)
# Assert what `distinct_words` asks of a model.
assert_distinct_words = asserted(vocabulary.distinct_words)
# Assert what `dropout` asks of a model.
assert_dropout = asserted(dropping.dropout)
# Assert what `exact_gradients` asks of a model.
assert_exact_gradients = asserted(slopes.exact_gradients)
# Assert what `finite` asks of a model.
assert_finite = asserted(numbers.finite)
# Assert what `first_loss` asks of a model.
assert_first_loss = asserted(beginning.first_loss)
# Assert what `generation` asks of a model.
assert_generation = asserted(generating.generation)
# Assert what `identity` asks of a model.
assert_identity = asserted(structure.identity)
# Assert what `live_parameters` asks of a model.
assert_live_parameters = asserted(learning.live_parameters)
# Assert what `logits` asks of a model.
assert_logits = asserted(numbers.logits)
# Assert what `loss_gradient` asks of a model.
assert_loss_gradient = asserted(losses.loss_gradient)
# Assert what `loss_softmax` asks of a model.
assert_loss_softmax = asserted(softmax.loss_softmax)
# Assert what `next_word` asks of a model.
assert_next_word = asserted(losses.next_word)
# Assert what `norm_statistics` asks of a model.
assert_norm_statistics = asserted(norms.norm_statistics)
# Assert what `order_sensitivity` asks of a model.
assert_order_sensitivity = asserted(hearing.order_sensitivity)
# Assert what `padding_in_loss` asks of a model.
assert_padding_in_loss = asserted(counted.padding_in_loss)
# Assert what `padding_invariance` asks of a model.
assert_padding_invariance = asserted(hearing.padding_invariance)
# Assert what `past` asks of a model.
assert_past = asserted(hearing.past)
# Assert what `provenance` asks of a model.
assert_provenance = asserted(attention.provenance)
# Assert what `relative_positions` asks of a model.
assert_relative_positions = asserted(rotations.relative_positions)
# Assert what `repeatable` asks of a model.
assert_repeatable = asserted(numbers.repeatable)
# Assert what `score_scale` asks of a model.
assert_score_scale = asserted(attention.score_scale)
# Assert what `source_coverage` asks of a model.
assert_source_coverage = asserted(sources.source_coverage)
# Assert what `source_dependence` asks of a model.
assert_source_dependence = asserted(hearing.source_dependence)
# Assert what `unknown_words` asks of a model.
assert_unknown_words = asserted(hearing.unknown_words)
# Assert what `weight_rows` asks of a model.
assert_weight_rows = asserted(attention.weight_rows)
# Assert what `words_in_loss` asks of a model.
assert_words_in_loss = asserted(counted.words_in_loss)
