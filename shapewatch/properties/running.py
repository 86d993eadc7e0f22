"""Running: whether a model runs at all, and where it fails."""

import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from shapewatch.properties.distances import still
from shapewatch.properties.subject import FailedError, Subject, error_line
from shapewatch.tracing.record.state import SITE_PACKAGES
from shapewatch.tracing.record.visits import owner


def why_not_running(subject: Subject) -> str:
    """Say why a model does not run as it is, in which of its modules and at
    which line of the reader's; "" when it runs."""
    try:
        still(subject)
    except FailedError as error:
        cause = error.__cause__
        if cause is None or isinstance(cause, FailedError):
            return f"The model fails: {error_line(error)}"
        place = where(subject, cause.__traceback__)
        return f"The model does not run: {error_line(error)}{place}"
    return ""


def where(subject: Subject, trail: TracebackType | None) -> str:
    """Name the innermost module and the reader's innermost line that an
    error came through; or a library's line, where no reader's is."""
    frames = [frame for frame, _ in traceback.walk_tb(trail)]
    named: Any = getattr(subject.model, "named_modules", list)
    paths = {id(part): path for path, part in named()}
    inside = [paths.get(id(x.f_locals.get("self")), "") for x in frames]
    path = next((x for x in reversed(inside) if x), "")
    return (f", in {path}" if path else "") + line_of(trail)


def line_of(trail: TracebackType | None) -> str:
    """Give the reader's innermost line that an error came through, or a
    library's; "" where there is none."""
    lines = [line for line in traceback.extract_tb(trail) if is_outer(line)]
    own = [line for line in lines if SITE_PACKAGES not in line.filename]
    for line in (own or lines)[-1:]:
        name = Path(line.filename).name
        return f", at {name}:{line.lineno}: {line.line}"
    return ""


def is_outer(line: traceback.FrameSummary) -> bool:
    """Whether a line is neither PyTorch's nor ours, and can be read."""
    ours = str(Path(__file__).parents[1])
    outer = owner(line.filename) == "reader"
    return outer and not line.filename.startswith(ours) and bool(line.line)
