"""The reference has every public name, as Python itself knows it."""

import ast
import importlib
import inspect
import re
from collections import Counter

import api
import pytest
from reference import markup

import tformer_lite
from shapewatch import properties, tracing
from tests.helpers.browser import CHAPTERS, HTML
from tests.helpers.project import ROOT

ENTRIES = api.public_entries()
SOURCES = sorted((ROOT / "book").glob("reference*/*.md"))
OURS = "|".join(api.PACKAGES)
LINK = re.compile(rf'href="([^"]*)#((?:{OURS})\.[\w.]+)"')


def test_every_public_name_has_an_entry_and_none_has_two():
    """But for the hooks, which the tracer has, too."""
    names = [entry.name for entry in ENTRIES]
    assert [*(Counter(names) - Counter({*names}))] == ["print_shapes"]
    at_the_top = [e.name for e in ENTRIES if e.home == "tformer_lite"]
    assert sorted(at_the_top) == tformer_lite.__all__
    ours = {e.name for e in ENTRIES if e.module.startswith("shapewatch")}
    assert ours | {"print_shapes"} == {*tracing.__all__, *properties.__all__}


def test_every_room_stands_once_in_the_overview_and_once_among_the_entries():
    overview = (ROOT / "book" / "reference.md").read_text("utf8")
    pages = "".join(page.read_text("utf8") for page in SOURCES)
    there = sorted({entry.room for entry in ENTRIES})
    assert sorted(re.findall(r"```{overview} (\w+)", overview)) == there
    assert sorted(re.findall(r"```{reference} (\w+)", pages)) == there


def written(signature: str) -> tuple[set[str], int]:
    """The parameters of a written signature, and how many have defaults."""
    arguments = ast.parse(f"def f{signature}: ...").body[0].args
    every = [node for node in ast.walk(arguments) if isinstance(node, ast.arg)]
    filled = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
    return {arg.arg for arg in every}, len(filled)


def test_signatures_and_docstrings_are_those_that_python_reads():
    for entry in ENTRIES:
        text = api.docstring_of(entry)
        assert text, entry.name
        if not isinstance(entry.node, ast.Assign):
            home = importlib.import_module(entry.home)
            thing = getattr(home, entry.name)
            parameters = inspect.signature(thing).parameters
            defaults = [p.default for p in parameters.values()]
            filled = [x for x in defaults if x is not inspect.Parameter.empty]
            wanted = set(parameters), len(filled)
            assert written(api.signature_text(entry)) == wanted, entry.name
            assert text == inspect.getdoc(thing), entry.name


def test_a_docstring_keeps_its_signs_and_colours_its_shapes():
    assert markup('C = H * D, (B, T) -> (T). `a * b`, "x*"') == (
        'C = H \\* D, <span class="shape">(<b class="axis axis-B">B</b>,'
        ' <b class="axis axis-T">T</b>)</span> → <span class="shape">('
        '<b class="axis axis-T">T</b>)</span>. `a * b`, `"x*"`'
    )


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_links_what_it_imports_and_a_mention_once(page):
    html = (HTML / page).read_text("utf8")
    places = [place for _, place in LINK.findall(html)]
    mentions = re.findall(rf"{LINK.pattern}><code", html)
    assert len(mentions) == len(set(mentions))
    text = (ROOT / page).with_suffix(".md").read_text("utf8")
    imports = re.findall(rf"^from (?:{OURS})\S* import (.+)", text, re.M)
    names = {name for line in imports for name in line.split(", ")}
    for name in names & {entry.name for entry in ENTRIES}:
        assert any(place.endswith(f".{name}") for place in places), name
