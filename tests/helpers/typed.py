"""What readers may type where a shape is asked for, judged by the module
that a page's script is made of: in Node, or else in a browser."""

from functools import cache

from scripts import name_of, notation, size_of

from tests.helpers.project import ROOT
from tests.helpers.scripts import answer

MODULE = ROOT / "book" / "_static" / "shapes.mjs"
ASK = """
({ letters, cases }) => cases.map(([measured, typed]) =>
    check(typed, written(measured), new Map(letters)))
"""


@cache
def in_letters() -> list[tuple[str, dict]]:
    """Each axis letter with its name, size and name in code, as a page's
    legend has them."""
    return [
        (letter, {"name": name_of(means), "size": size_of(letter), "code": c})
        for letter, means, c in notation()
    ]


def judged(cases: list[tuple[str, str]]) -> list[dict]:
    """Check pairs of a measured shape and a typed one."""
    given = {"letters": in_letters(), "cases": cases}
    return answer([MODULE], ASK, given)
