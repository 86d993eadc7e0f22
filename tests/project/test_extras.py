"""What is installed for whom: extras as ranges, the project's own pins
within them."""

import re
import tomllib

import extras
from packaging.requirements import Requirement

from tests.helpers.project import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
BOOK, ALL = "book/requirements.txt", "requirements.txt"


def pins(file: str) -> dict[str, str]:
    """The versions that a file of requirements pins, by name."""
    text = (ROOT / file).read_text("utf8")
    return dict(re.findall(r"^(\w[\w.-]*)==(\S+)", text, re.MULTILINE))


def ranges(*groups: list[str]) -> list[Requirement]:
    """What groups of dependencies ask for, this package itself apart."""
    asked = [Requirement(need) for group in groups for need in group]
    return [need for need in asked if need.name != PROJECT["name"]]


def test_the_extra_for_the_book_names_what_the_book_is_built_with():
    assert {need.name for need in ranges(EXTRAS["book"])} == set(pins(BOOK))


def test_the_extra_for_the_tests_names_all_that_they_are_run_with():
    (own,) = (n for n in EXTRAS["test"] if n.startswith(PROJECT["name"]))
    others = Requirement(own).extras
    assert {*others, "test"} == set(EXTRAS)
    asked = ranges(PROJECT["dependencies"], *EXTRAS.values())
    used = set(pins(BOOK)) | set(pins(ALL))
    assert used - {need.name for need in asked} == set()


def test_what_the_project_pins_is_within_the_ranges():
    versions = pins("book/constraints.txt") | pins(BOOK) | pins(ALL)
    asked = ranges(PROJECT["dependencies"], *EXTRAS.values())
    pinned = [need for need in asked if need.name in versions]
    assert len(pinned) > 20
    for need in pinned:
        assert versions[need.name] in need.specifier, str(need)


def test_every_extra_is_tried_and_every_wheel_alone_too():
    wheels = {"shapewatch", "alone", "classroom"}
    assert set(extras.TRIALS) == {*wheels, "pytest", *EXTRAS}
