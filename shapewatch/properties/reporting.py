"""The report: all checks on one model."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
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
from shapewatch.properties.finding import (
    EXPECTED,
    FailedReport,
    Finding,
    Report,
)
from shapewatch.properties.progress import Progress
from shapewatch.properties.results import Pick
from shapewatch.properties.running import why_not_running
from shapewatch.properties.subject import POSITIONS, Subject

CHECKS = (
    numbers.finite,
    numbers.repeatable,
    numbers.logits,
    beginning.first_loss,
    norms.norm_statistics,
    attention.weight_rows,
    attention.score_scale,
    attention.provenance,
    rotations.relative_positions,
    heads.distinct_heads,
    future.causality,
    hearing.past,
    hearing.padding_invariance,
    hearing.unknown_words,
    vocabulary.distinct_words,
    hearing.source_dependence,
    sources.source_coverage,
    hearing.order_sensitivity,
    hearing.batch_independence,
    caching.cached_run,
    generating.generation,
    dropping.dropout,
    learning.live_parameters,
    slopes.exact_gradients,
    structure.identity,
    matrices.activations,
)
LOSS_CHECKS = (
    losses.loss_gradient,
    losses.next_word,
    softmax.loss_softmax,
    counted.padding_in_loss,
    counted.words_in_loss,
)


def report(
    model: Callable,
    *inputs: Any,
    pad: int | None = None,
    unknown: int | None = None,
    causal: bool = True,
    positions: int = POSITIONS,
    output: Pick = None,
    loss: Callable | None = None,
    expect: Mapping[str, str] | None = None,
    **named: Any,
) -> Report:
    """Run all checks on a model, and show a table of what they saw.

    `model` is any module or function from ids (or vectors) to one row for
    each position: (B, T) -> (B, T, V), or (B, S), (B, T) -> (B, T, V). Give
    its inputs, too, with different words in each row: by place, by name, or
    in a dictionary, such as a tokenizer's. A name that is no option here is
    an input of the model.

    `pad` and `unknown` are the ids of [PAD] and [UNK]; `causal` says whether
    the future should be hidden. Of each input, at most so many `positions`
    are pushed, from the first to the last, and as many with padding; the
    sentences say so where that is not all. `output` picks what is judged:
    a name, such as "logits", or a function of what the model gives. `expect`
    gives reasons for findings that are known, such as {"score_scale": "T5
    scales at initialisation"}. `loss` is the training loss: called as the
    model is, loss(model, ids), it gives a number, and what it asks of the
    model is judged as well. Nothing is raised for a broken model: see
    `Report.ok`. ValueError when no check has an expected name, and TypeError
    for a name that is neither an option nor an input.

    >>> table = torch.nn.Embedding(9, 4)
    >>> report(table, torch.tensor([[2, 5, 3], [2, 6, 7]]))["causality"]
    causality: ✓ holds. No position hears a later one.
    >>> report(table, {"input": torch.tensor([[2, 5], [6, 7]])}, pad=7).ok
    True
    """
    checks = CHECKS + (LOSS_CHECKS if loss else ())
    reasons, names = expect or {}, [check.__name__ for check in checks]
    for name in reasons:
        if name not in names:
            says = f"no check {name!r}: there are {', '.join(names)}"
            raise ValueError(says)
    options = pad, unknown, causal, None, positions, output, named, loss
    subject = Subject(model, inputs, *options)
    with subject.state:
        failure = why_not_running(subject)
        found = [] if failure else findings(subject, checks)
    if failure:
        return FailedReport([Finding(name, False, failure) for name in names])
    return Report([after_all(finding, reasons) for finding in found])


def findings(
    subject: Subject, checks: Iterable[Callable[..., Finding]]
) -> list[Finding]:
    """Let each check ask a subject."""
    progress = Progress()
    subject.tick = progress.tick
    return [check(subject) for check in progress.each(checks)]


def after_all(finding: Finding, reasons: Mapping[str, str]) -> Finding:
    """Mark a finding that was expected, and put the reason before it; say of
    one that holds that the reason is not needed."""
    reason = reasons.get(finding.name, "").rstrip(".")
    if not reason or finding.holds is None:
        return finding
    if finding.holds:
        says = f"{finding.says} (It was expected not to: {reason}.)"
        return replace(finding, says=says)
    return replace(finding, says=f"{reason}. {finding.says}", level=EXPECTED)
