"""The report: all checks on one model; and an assertion of one."""

import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import NoneType, TracebackType
from typing import Any

from torch import Tensor

from shapewatch.properties.activations import activations
from shapewatch.properties.attention import score_scale, weight_rows
from shapewatch.properties.batches import batch_independence
from shapewatch.properties.caching import cached_run
from shapewatch.properties.dependence import causality, source_coverage
from shapewatch.properties.finding import (
    AS_EXPECTED,
    FailedReport,
    Finding,
    Report,
)
from shapewatch.properties.inputs import no_inputs
from shapewatch.properties.learning import live_parameters
from shapewatch.properties.losses import next_word, padding_in_loss
from shapewatch.properties.numbers import finite, logits, repeatable
from shapewatch.properties.order import order_sensitivity
from shapewatch.properties.outputs import FailedError, Pick, error_line
from shapewatch.properties.padding import padding_invariance
from shapewatch.properties.past import past
from shapewatch.properties.perturbation import raw_output
from shapewatch.properties.positions import relative_positions
from shapewatch.properties.precision import precision
from shapewatch.properties.provenance import provenance
from shapewatch.properties.residuals import identity
from shapewatch.properties.structure import norm_statistics
from shapewatch.properties.subject import (
    POSITIONS,
    NotJudgedError,
    Subject,
    subject_of,
)
from shapewatch.tracing.record.owners import SITE_PACKAGES, owner


def why_not_running(subject: Subject) -> str:
    """Say why a model does not run, in which module, at which line; or ""."""
    try:
        raw_output(subject)
    except FailedError as error:
        if odd := no_tensors(subject):
            raise TypeError(no_inputs(tuple(odd))) from error
        cause = error.__cause__
        if cause is None or isinstance(cause, FailedError):
            return f"The model fails: {error_line(error)}"
        place = failing_place(subject, cause.__traceback__)
        return f"The model does not run: {error_line(error)}{place}"
    return ""


def no_tensors(subject: Subject) -> list[Any]:
    """List what no model reads: an array; or a list, which gave its name to
    each of its numbers."""
    lists = [
        list[Any]()
        for x, name in zip(subject.given, subject.names)
        if subject.names.count(name) > 1 and isinstance(x, int | float)
    ]
    odd = [x for x in subject.given if not isinstance(x, READABLE)]
    return odd + lists[:1]


def failing_place(subject: Subject, trail: TracebackType | None) -> str:
    """Name the innermost module and line that an error came through."""
    frames = [frame for frame, _ in traceback.walk_tb(trail)]
    named: Any = getattr(subject.model, "named_modules", list)
    paths = {id(part): path for path, part in named()}
    inside = [paths.get(id(x.f_locals.get("self")), "") for x in frames]
    path = next((x for x in reversed(inside) if x), "")
    return (f", in {path}" if path else "") + reader_line(trail)


def reader_line(trail: TracebackType | None) -> str:
    """Give the reader's line that an error came through, or a library's."""
    lines = [line for line in traceback.extract_tb(trail) if is_outer(line)]
    readers = [line for line in lines if SITE_PACKAGES not in line.filename]
    for line in (readers or lines)[-1:]:
        name = Path(line.filename).name
        return f", at {name}:{line.lineno}: {line.line}"
    return ""


def is_outer(line: traceback.FrameSummary) -> bool:
    """Whether a line is neither PyTorch's nor ours, and can be read."""
    ours = str(Path(__file__).parents[1])
    outer = owner(line.filename) == "reader"
    return outer and not line.filename.startswith(ours) and bool(line.line)


READABLE = Tensor, bool, int, float, str, NoneType
CHECKS = (
    finite,
    repeatable,
    precision,
    logits,
    norm_statistics,
    weight_rows,
    score_scale,
    provenance,
    relative_positions,
    causality,
    past,
    padding_invariance,
    source_coverage,
    order_sensitivity,
    batch_independence,
    cached_run,
    live_parameters,
    identity,
    activations,
)
LOSS_CHECKS = (next_word, padding_in_loss)


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
    causality: ✓ holds. No position depends on a later one.
    >>> report(table, {"input": torch.tensor([[2, 5], [6, 7]])}, pad=7).ok
    True
    """
    checks = CHECKS + (LOSS_CHECKS if loss else ())
    reasons, names = expect or {}, [check.__name__ for check in checks]
    for name in reasons:
        if name not in names:
            says = f"no check {name!r}: there are {', '.join(names)}"
            raise ValueError(says)
    options: dict = {"pad": pad, "unknown": unknown, "causal": causal}
    options |= {"positions": positions, "output": output, "loss": loss}
    subject = Subject(model, inputs, named, **options)
    with subject.state:
        if failure := why_not_running(subject):
            findings = [Finding(name, False, failure) for name in names]
            return FailedReport(findings)
        findings = [ask(subject) for ask in checks]
    return Report([after_all(finding, reasons) for finding in findings])


def after_all(finding: Finding, reasons: Mapping[str, str]) -> Finding:
    """Mark a finding that was expected, with the reason before it."""
    reason = reasons.get(finding.name, "").rstrip(".")
    if not reason or finding.holds is None:
        return finding
    if finding.holds:
        says = f"{finding.says} (It was expected not to: {reason}.)"
        return replace(finding, says=says)
    says = f"{reason}. {finding.says}"
    return replace(finding, says=says, level=AS_EXPECTED)


def assert_holds(
    check: Callable[..., Finding], model: Callable, *inputs: Any, **known: Any
) -> None:
    """Assert that what a check asks holds: assert_holds(causality, model, x).

    The model and its inputs are as in `report`, and so are pad, unknown,
    causal, positions, output and loss. AssertionError with what was seen,
    unless the property holds, also for what is unusual; NotJudgedError with
    the reason, where it cannot be judged: such a test has asserted nothing.
    TypeError for a name that is neither an option nor an input.

    >>> layer = torch.nn.LSTM(3, 4, batch_first=True)
    >>> assert_holds(causality, layer, torch.randn(2, 5, 3))
    """
    __tracebackhide__ = True  # pytest shows the test's line
    subject = subject_of(model, inputs, known)  # raises for other names
    with subject.state:
        finding = check(subject)
    if finding.holds is None:
        raise NotJudgedError(str(finding))
    if not finding.holds:
        raise AssertionError(str(finding))
