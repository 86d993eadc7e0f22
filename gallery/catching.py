"""Which properties find which bugs, measured."""

import json
from collections.abc import Iterable
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from gallery.entries import Bug, bug, incident_html, shelves
from gallery.shapes import changed_shapes, example_shapes
from shapewatch import properties
from shapewatch.properties import report
from shapewatch.properties.finding import BROKEN, UNUSUAL, nowrap
from shapewatch.tracing.markup import STYLE, code_html, html_groups, pre_html
from shapewatch.tracing.tables import Sheet
from tformer_lite.example.running import running_example, running_model

LEVELS = BROKEN, UNUSUAL
CATCHES_FILE = Path(__file__).with_name("caught.json")


class Catch(NamedTuple):
    """A bug, how many shapes it changes, and the properties that notice."""

    bug: str
    example_shapes: int
    properties: str


class Finder(NamedTuple):
    """A property, how many bugs it finds, and which it alone finds."""

    property: str
    bugs: int
    alone: str


class Catches(Sheet):
    """Rows of names and numbers; in a notebook, bugs by their shelves, each
    with the line that is wrong, and properties with what they ask."""

    @property
    def found(self) -> dict[str, list[str]]:
        """The properties that notice each bug: what `dots` draws."""
        return {row.bug: row.properties.split(", ") for row in self.rows}

    @property
    def shelves(self) -> dict[str, str]:
        """The shelf that begins at a bug."""
        groups = groupby(self.rows, lambda row: shelf_of(row[0]))
        return {next(rows)[0]: title for title, rows in groups if title}

    def _repr_html_(self) -> str:
        """Write a real table: readable without style and without script."""
        groups = groupby(self.rows, lambda row: shelf_of(row[0]))
        cells = (
            (
                title,
                [[telling_html(x), str(n), breakable(y)] for x, n, y in rows],
            )
            for title, rows in groups
        )
        return STYLE + html_groups(self.headers, cells, self.notes)


def breakable(names: str) -> str:
    """Write names that may break after an underline."""
    return names.replace("_", "_<wbr>")


@cache
def shelf_of(name: str) -> str:
    """Find the shelf of a bug; "" for another name."""
    named = ((t, bug.name) for t, row in shelves().items() for bug in row)
    return next((title for title, one in named if one == name), "")


def telling_html(name: str) -> str:
    """Tell what a bug is, or what a property asks."""
    if shelf_of(name):
        one, head = bug(name), f"<b>{nowrap(name)}</b><br>"
        says = f"{escape(one.says)} {incident_html(one)}"
        (wrong,) = code_html([one.wrong])
        return head + says + pre_html(f"<mark>✗</mark> {wrong}")
    check = getattr(properties, name, None)
    asks = " ".join((check.__doc__ or "").partition("\n\n")[0].split())
    return f"<b>{nowrap(name)}</b><br>{escape(asks)}"


def plant_and_report(bugs: Iterable[Bug]) -> Catches:
    """Plant each bug in the running model, and see what notices: a table."""
    right, ids = example_shapes(running_model()), running_example()[:2]
    rows: list[NamedTuple] = []
    for one in bugs:
        model = one.model()
        n = len(changed_shapes(example_shapes(model), right))
        found = report(model, *ids).findings
        names = [each.name for each in found if each.level in LEVELS]
        rows.append(Catch(one.name, n, ", ".join(names)))
    return Catches(rows, [])


def stored_catches() -> Catches:
    """Look up what `caught` gives for the whole gallery."""
    rows = json.loads(CATCHES_FILE.read_text("utf8"))
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
