"""Which properties find which bugs, measured."""

import json
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from tformer_lite.example.running import running_model
from tformer_lite.example.shipped import STORED
from tformer_lite.gallery.entries import Bug, shelves
from tformer_lite.gallery.shapes import changed, shapes
from tformer_lite.properties import report
from tformer_lite.properties.finding import BROKEN, UNUSUAL, whole
from tformer_lite.tracing.markup import STYLE, html_groups
from tformer_lite.tracing.tables import Sheet

LEVELS = BROKEN, UNUSUAL
CAUGHT = STORED / "caught.json"


class Catch(NamedTuple):
    """A bug, how many shapes it changes, and the properties that notice."""

    bug: str
    shapes: int
    properties: str


class Finder(NamedTuple):
    """A property, how many bugs it finds, and which it alone finds."""

    property: str
    bugs: int
    alone: str


class Catches(Sheet):
    """Rows of names and numbers; in a notebook, bugs by their shelves."""

    def _repr_html_(self) -> str:
        """Write a real table: readable without style and without script."""
        titles = {b.name: t for t, bugs in shelves().items() for b in bugs}
        groups = groupby(self.rows, lambda row: titles.get(row[0], ""))
        cells = (
            (title, ([whole(name), str(n), names] for name, n, names in rows))
            for title, rows in groups
        )
        return STYLE + html_groups(self.headers, cells, self.notes)


def caught(bugs: Iterable[Bug]) -> Catches:
    """Plant each bug in the running model, and see what notices: a table."""
    right = shapes(running_model())
    rows: list[NamedTuple] = []
    for bug in bugs:
        model = bug.model()
        n = len(changed(shapes(model), right))
        names = [f.name for f in report(model).findings if f.level in LEVELS]
        rows.append(Catch(bug.name, n, ", ".join(names)))
    return Catches(rows, [])


def measured() -> Catches:
    """Look up what `caught` gives for the whole gallery."""
    rows = json.loads(CAUGHT.read_text("utf8"))
    return Catches([Catch(*row) for row in rows], [])


def by_property(catches: Sheet) -> Catches:
    """Turn the table round: what each property finds, and it alone."""
    found: dict[str, list[Catch]] = {}
    for catch in catches.rows:
        for name in catch.properties.split(", "):
            found.setdefault(name, []).append(catch)
    rows: list[NamedTuple] = []
    for name, finds in found.items():
        alone = [catch.bug for catch in finds if catch.properties == name]
        rows.append(Finder(name, len(finds), ", ".join(alone) or "–"))
    return Catches(sorted(rows, key=lambda row: -row[1]), [])
