"""The report: all checks on one model."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from torch import Tensor

from tformer_lite.properties import (
    attention,
    counted,
    future,
    hearing,
    learning,
    losses,
    norms,
    numbers,
    softmax,
    structure,
)
from tformer_lite.properties.finding import EXPECTED, Finding, Report
from tformer_lite.properties.subject import Subject

CHECKS = (
    numbers.finite,
    numbers.repeatable,
    numbers.logits,
    norms.norm_statistics,
    attention.weight_rows,
    attention.score_scale,
    attention.provenance,
    future.causality,
    hearing.past,
    hearing.padding_invariance,
    hearing.unknown_words,
    hearing.source_dependence,
    hearing.source_coverage,
    hearing.order_sensitivity,
    hearing.batch_independence,
    learning.live_parameters,
    structure.identity,
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
    *inputs: Tensor,
    pad: int | None = None,
    unknown: int | None = None,
    causal: bool = True,
    loss: Callable | None = None,
    expect: Mapping[str, str] | None = None,
) -> Report:
    """Run all checks on a model, and show a table of what they saw.

    `model` is any module or function from ids (or vectors) to one row for
    each position: (B, T) -> (B, T, V), or (B, S), (B, T) -> (B, T, V). The
    models of this module bring their own ids; others need `inputs`, with
    different words in each row. `pad` and `unknown` are the ids of [PAD]
    and [UNK]; `causal` says whether the future should be hidden. `loss` is
    the training loss, loss(model, *inputs) -> (): with it, what it asks of
    the model is judged as well. `expect` gives reasons for findings that
    are known, such as {"score_scale": "T5 scales at initialisation"}.
    Nothing is raised for a broken model; ValueError when no check has an
    expected name.

    >>> report(running_model())["causality"]
    causality: ✓ holds. No position hears a later one.
    """
    checks = CHECKS + (LOSS_CHECKS if loss else ())
    reasons, names = expect or {}, [check.__name__ for check in checks]
    for name in reasons:
        if name not in names:
            says = f"no check {name!r}: there are {', '.join(names)}"
            raise ValueError(says)
    subject = Subject(model, inputs, pad, unknown, causal, loss=loss)
    findings = [check(subject) for check in checks]
    return Report([known(found, reasons) for found in findings])


def known(finding: Finding, reasons: Mapping[str, str]) -> Finding:
    """Mark a finding that was expected, and put the reason before it; say of
    one that holds that the reason is not needed."""
    reason = reasons.get(finding.name, "").rstrip(".")
    if not reason or finding.holds is None:
        return finding
    if finding.holds:
        says = f"{finding.says} (It was expected not to: {reason}.)"
        return replace(finding, says=says)
    return replace(finding, says=f"{reason}. {finding.says}", level=EXPECTED)
