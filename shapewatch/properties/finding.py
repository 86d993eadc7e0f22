"""Findings: what a check has seen of a model, and the table of all."""

import html
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import wraps
from itertools import chain
from textwrap import wrap
from typing import Any, NoReturn

from torch import Tensor

from shapewatch.properties.outputs import FailedError, error_line
from shapewatch.properties.subject import NotJudgedError, Subject, subject_of
from shapewatch.properties.versions import with_random_weights
from shapewatch.tracing.markup import html_table
from shapewatch.tracing.tables import text_line

# Whether it holds, what was seen, and the level, where it is unusual.
Verdict = tuple[bool, str, Tensor] | tuple[bool, str, Tensor, str]
Judge = Callable[[Subject], Verdict]
# What PyTorch cannot do with a model that it can run.
UNABLE = (
    "NotImplementedError",
    "not implemented for",
    "use_reentrant",
    "being vmapped",
)
FUTURE = "Outputs may depend on the future here: causal=False."
HOLDS, BROKEN = "holds", "broken"
UNUSUAL, AS_EXPECTED = "unusual", "expected"
LEVELS = {True: HOLDS, False: BROKEN, None: "not judged"}
VERDICT_MARKS = {"holds": "✓", "broken": "✗", "not judged": "–"}


@dataclass(frozen=True)
class Finding:
    """What one check has seen.

    `holds` is True, False, or None where nothing could be judged; `says` tells
    in a sentence what was seen, or what is wrong and where to look. `level` is
    "holds"; "broken" for a bug; "unusual" for what some good models do, too;
    "expected" for what the caller knew of; or "not judged". What is unusual or
    expected does not hold either.

    `seen` is a matrix for `heatmap`, where there is one: often how far each
    output position (its row) moved when an input position (its column) did, in
    the first row of the batch.
    """

    name: str
    holds: bool | None
    says: str
    seen: Tensor | None = field(default=None, compare=False)
    level: str = ""

    def __post_init__(self):
        """Take the level from what holds, unless it is said."""
        level = self.level or LEVELS[self.holds]
        object.__setattr__(self, "level", level)

    @property
    def verdict(self) -> str:
        """The level, with a mark before it."""
        return f"{VERDICT_MARKS.get(self.level, '!')} {self.level}"

    def __str__(self) -> str:
        """Write a line: the name, the verdict, and the sentence."""
        return f"{self.name}: {self.verdict}. {self.says}"

    __repr__ = __str__


class Report:
    """The findings of all checks; it prints itself as a table. A finding is
    found by its name: `report(model, ids)["causality"]`. Whether all is well
    is `ok`; a report itself is neither true nor false, and TypeError is
    raised for `if report(model, ids):`.

    `to_json` writes one object: `version` is 1; `ok` as here; `findings` has,
    in order, an object for each check: its `name`, the `level` ("holds",
    "broken", "unusual", "expected" or "not judged"), and what it `says`.
    Fields may be added without another version. Matrices are left out: they
    are what a finding has `seen`.
    """

    room = 64  # letters of a sentence in one line

    def __init__(self, findings: list[Finding]):
        self.findings = findings

    @property
    def ok(self) -> bool:
        """Whether it runs, and nothing is broken; it may be unusual."""
        return not self.broken

    def __bool__(self) -> NoReturn:
        raise TypeError("a report is neither true nor false: ask for its .ok")

    @property
    def broken(self) -> list[str]:
        """The names of the properties that a bug has broken."""
        return [x.name for x in of_level(self, BROKEN).findings]

    @property
    def unusual(self) -> list[str]:
        """The names of what good models have, too, and not the paper's."""
        return [x.name for x in of_level(self, UNUSUAL).findings]

    def __getitem__(self, name: str) -> Finding:
        """Find what a check has seen by its name; KeyError lists them."""
        by_name = {finding.name: finding for finding in self.findings}
        if name in by_name:
            return by_name[name]
        raise KeyError(f"no check {name!r}: there are {', '.join(by_name)}")

    def __str__(self) -> str:
        """Write a few lines for each finding, as wide as a terminal's."""
        lines = (in_lines(finding, self.room) for finding in self.shown())
        return "\n".join(chain.from_iterable(lines))

    __repr__ = __str__

    def shown(self) -> list[Finding]:
        """List what is printed."""
        return self.findings

    def to_json(self) -> str:
        """Write the report as JSON; the class says what is in it."""
        data = {"version": 1, "ok": self.ok, "findings": rows_of(self)}
        return json.dumps(data, ensure_ascii=False, indent=1)

    def _repr_html_(self) -> str:
        """Write a real table: readable without style and without script."""
        rows = map(in_cells, self.shown())
        return html_table(("property", "verdict", "what was seen"), rows)


def rows_of(report: Report) -> list[dict[str, str]]:
    """What each finding of a report has in its JSON."""
    fields = "name", "level", "says"
    return [{x: getattr(y, x) for x in fields} for y in report.findings]


class FailedReport(Report):
    """The findings on a model that does not run, which all say the same; it
    prints itself as one line, and is never `ok`."""

    room = 1000

    @property
    def ok(self) -> bool:
        """False."""
        return False

    def shown(self) -> list[Finding]:
        """List one."""
        return [replace(x, name="model") for x in self.findings[:1]]


def of_level(report: Report, level: str) -> Report:
    """Keep the findings of one level, such as "unusual"."""
    kept = [finding for finding in report.findings if finding.level == level]
    return type(report)(kept)


def in_lines(finding: Finding, room: int) -> list[str]:
    """Break a sentence into lines, the first of them beside its name."""
    first, *more = wrap(finding.says, room, break_on_hyphens=False) or [""]
    rows = [
        (finding.name, finding.verdict, first),
        *(("", "", x) for x in more),
    ]
    return [text_line(row, (18, 12, 0)) for row in rows]


def in_cells(finding: Finding) -> list[str]:
    """Write a finding as cells, of which only the sentence may break."""
    names = map(nowrap, (finding.name, finding.verdict))
    return [*names, html.escape(finding.says)]


def nowrap(text: str) -> str:
    """Write a text that no line breaks, where the page has style."""
    return f'<span class="whole">{html.escape(text)}</span>'


def check(judge: Callable[[Subject], Verdict]) -> Callable[..., Finding]:
    """Make a check of a function that judges a subject."""
    name = judge.__name__

    @wraps(judge)
    def ask(subject: Any, *inputs: Any, **known: Any) -> Finding:
        try:
            if isinstance(subject, Subject):
                return Finding(name, *judge_changed(judge, subject))
            asked = subject_of(subject, inputs, known)
            with asked.state:
                return Finding(name, *judge_changed(judge, asked))
        except NotJudgedError as reason:
            return Finding(name, None, str(reason))
        except FailedError as error:
            return Finding(name, False, f"The model fails: {error}")
        except Exception as error:
            says = f"It could not be checked: {error_line(error)}"
            return Finding(name, None, says)

    del ask.__wrapped__  # it is called with a model, not a subject
    return ask


def judge_changed(judge: Judge, subject: Subject) -> Verdict:
    """Judge a subject; NotJudgedError for a model that runs as it is given,
    and not with what the check changes."""
    try:
        return judge(subject)
    except FailedError as error:
        subject.run()
        if any(text in str(error) for text in UNABLE):
            raise NotJudgedError(f"It cannot be done here: {error}") from error
        says = f"The model does not run with what is changed here: {error}"
        raise NotJudgedError(says) from error


def whatever_weights(judge: Judge) -> Judge:
    """Let a finding be unusual, and not a bug, that other weights would not
    have: those of this model are small. Nor is it a finding at all where
    matrices are 0, as many are before training."""

    @wraps(judge)
    def ask(subject: Subject) -> Verdict:
        verdict = judge(subject)
        holds, says, matrix, *level = verdict
        zero = not holds and starts_at_zero(subject.model)
        if holds or (level and not zero):
            return verdict
        with suppress(NotJudgedError):
            others = (with_random_weights(subject, n) for n in range(2))
            better = next((x for x in map(judge, others) if x[0]), None)
            if better and zero:
                more = "(With random weights: some matrices are 0 here.)"
                return True, f"{better[1]} {more}", better[2]
            if better:
                says += " (With random weights this is not so: some are too "
                return holds, f"{says}small.)", matrix, UNUSUAL
        return holds, says, matrix

    return ask


def starts_at_zero(model: Any) -> bool:
    """Whether all numbers of some matrix are 0."""
    weights: Any = getattr(model, "parameters", list)()
    return any(p.ndim > 1 and not p.any() for p in weights)
