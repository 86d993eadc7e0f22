"""Which properties find which bugs, measured."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tformer_lite.gallery.entries import Bug
from tformer_lite.gallery.shapes import changed, shapes
from tformer_lite.properties import report
from tformer_lite.running import running_model
from tformer_lite.tracing.sheet import Sheet

STORED = Path(__file__).parents[1] / "stored" / "caught.json"


class Catch(NamedTuple):
    """A bug, how many shapes it changes, and the properties it breaks."""

    bug: str
    shapes: int
    properties: str


class Finder(NamedTuple):
    """A property, how many bugs it finds, and which it alone finds."""

    property: str
    bugs: int
    alone: str


def caught(bugs: Iterable[Bug]) -> Sheet:
    """Plant each bug in the running model, and see what notices: a table."""
    right, rows = shapes(running_model()), []
    for bug in bugs:
        model = bug.model()
        moved = changed(shapes(model), right)
        broken = ", ".join(report(model).broken)
        rows.append(Catch(bug.name, len(moved), broken))
    return Sheet(rows, [])


def measured() -> Sheet:
    """Look up what `caught` gives for the whole gallery."""
    rows = json.loads(STORED.read_text("utf8"))
    return Sheet([Catch(*row) for row in rows], [])


def by_property(sheet: Sheet) -> Sheet:
    """Turn the table round: what each property finds, and it alone."""
    found: dict[str, list[Catch]] = {}
    for row in sheet.rows:
        for name in row.properties.split(", "):
            found.setdefault(name, []).append(row)
    rows = []
    for name, catches in found.items():
        alone = [row.bug for row in catches if row.properties == name]
        rows.append(Finder(name, len(catches), ", ".join(alone) or "–"))
    return Sheet(sorted(rows, key=lambda row: -row.bugs), [])
