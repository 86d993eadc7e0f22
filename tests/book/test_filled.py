"""What is filled into pages: by roles, or the build fails; into the corpus's
page, whose tables are the grammar's; into the page of benchmarks, to which who
speaks of speed links."""

import json
import re
from pkgutil import resolve_name

import grammar
import pytest
import roles
import shapes
from corpus_page import CORPUS_PAGE, TABLES, fill_tables, sounds
from repository import addresses

from benchmarks import measure, recording, rounds
from benchmarks.page import FIGURES, PAGE, PLACE, WRITERS, filled
from tests.helpers.project import ROOT
from tformer_lite import english_nepali, running_trace

BOOK = ROOT / "book"


def said(text: str) -> str:
    """A text with its roles filled in, without colours and names."""
    return re.sub(r"</?(?:b|data)\b[^>]*>", "", roles.with_words(text, BOOK))


@pytest.mark.slow
def test_the_recorded_shapes_are_those_of_the_run():
    """`make notebooks` writes book/shapes.json anew."""
    written = json.loads((BOOK / "shapes.json").read_text())
    assert written == shapes.shapes_data(running_trace())


def test_shapes_sizes_and_counts_are_the_measured_ones():
    assert said("{axes}`scores` is {sizes}`scores`.") == (
        "(B, H, T, S) is (2, 3, 8, 8)."
    )
    assert said("{axes}`causal mask`") == "(1, 1, T, T)"
    assert said("{axes}`decoder.blocks.0.cross_attention:q`") == "(B, H, T, D)"
    assert said("{sizes}`q[0, 1]` @ {sizes}`k.mT[0, 1]`") == "(8, 4) @ (4, 8)"
    assert said("{size}`V` words, {count}`.` in all") == (
        "1,024 words, 41,256 in all"
    )


@pytest.mark.parametrize("role", ["axes", "sizes", "size", "count", "axis"])
def test_a_name_that_does_not_exist_stops_the_build(role):
    with pytest.raises(roles.UnknownNameError, match="there is no .* 'skores"):
        roles.with_words(f"{{{role}}}`skores`", BOOK)


def test_a_source_is_cited_in_full_with_its_link():
    text = said("{cite}`vaswani2017` and {cite}`ba2016`")
    paper = "[Attention Is All You Need](https://arxiv.org/abs/1706.03762)"
    assert text.startswith(f"Vaswani and others, {paper}, NeurIPS, 2017 and")
    assert "Ba and others, [Layer Normalization](" in text
    with pytest.raises(roles.UnknownNameError, match="no source 'vaswani'"):
        said("{cite}`vaswani`")


def test_a_term_has_a_full_link_to_the_glossary_and_another_fails():
    site = addresses(ROOT)[1]
    place = f"{site}/book/glossary.html#term-causal-mask"
    link = f'<a class="term" href="{place}">'
    assert said("{term}`causal mask`") == f"{link}causal mask</a>"
    assert said("{term}`hidden future <causal mask>`") == (
        f"{link}hidden future</a>"
    )
    with pytest.raises(roles.UnknownNameError, match="no term 'causal'"):
        said("{term}`causal`")


def test_the_page_of_references_has_every_source():
    page = (BOOK / "references.md").read_text()
    assert re.findall("{cite}`(.*?)`", page) == sorted(roles.references(BOOK))


# --- the corpus -------------------------------------------------------------

CORPUS = CORPUS_PAGE.read_text("utf8")


@pytest.mark.slow
def test_the_tables_of_the_page_are_those_of_the_grammar():
    assert fill_tables(CORPUS) == CORPUS
    assert set(re.findall(r"<!-- (\w+) -->", CORPUS)) == {*TABLES, "end"}


def test_what_the_page_says_of_the_split_is_so():
    text = " ".join(CORPUS.split())
    pair = re.search(r"If \*(\w+)\* and \*(\w+)\* are a combination", text)
    tested = grammar.corpus_parts()["test"]
    assert pair.groups() in {one.core for one in tested}
    assert f"fewer than {grammar.OFTEN} training sentences" in text
    assert f"less than {100 * grammar.MOST:.0f} % of its own" in text


def test_every_word_is_in_the_tables():
    for part in ("train", "valid", "test"):
        for _, nepali in english_nepali(part):
            assert set(re.sub("[।?]", "", nepali).split()) <= sounds().keys()


# --- benchmarks -------------------------------------------------------------

SPEEDS = PAGE.read_text("utf8")
STORED = json.loads(FIGURES.read_text("utf8"))
TYPED = re.compile(r"\d+\s*(?:%|(?:ms|s|MB|seconds|minutes|times)\b)")
SPEED = re.compile(r"\b(faster|quicker|an? minute)\b")
PAPERS = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
TEXTS = [*(ROOT / "chapters").glob("*.md"), *PAPERS]


def test_the_page_shows_what_is_measured_with_the_stored_figures():
    """`PYTHONPATH=. .venv/bin/python -m benchmarks.page` does it."""
    assert filled(SPEEDS, STORED) == SPEEDS
    sections = {job.section for job in measure.JOBS}
    places = {place[1] for place in PLACE.finditer(SPEEDS)}
    assert places == {*WRITERS, *sections}
    assert STORED.keys() == {"made", *sections}


def test_no_figure_is_typed_by_hand():
    outside = PLACE.sub("", SPEEDS)
    assert [found[0] for found in TYPED.finditer(outside)] == []


@pytest.mark.slow
@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.stem)
def test_a_claim_of_speed_links_to_its_figures(file):
    text = re.sub(r"(?ms)^```.*?^```$", "", file.read_text("utf8"))
    claims = filter(SPEED.search, text.split("\n\n"))
    assert [part for part in claims if "benchmarks." not in part] == []


def test_runs_take_turns_and_the_first_is_the_measure_of_all():
    done = []
    runs = {name: lambda name=name: done.append(name) for name in "ab"}
    rows = rounds.rows_in_turns(runs, budget=0)
    assert "".join(done).startswith("abaabb")
    assert [row["rounds"] for row in rows] == [rounds.LEAST] * 2
    assert rows[0]["ratio"] == [1, 1, 1]


@pytest.mark.full
def test_each_job_has_its_function_and_the_running_example_is_measured(
    monkeypatch,
):
    for job in measure.JOBS:
        assert callable(resolve_name(f"benchmarks.{job.function}"))
    monkeypatch.setattr(rounds, "MOST", 1)
    assert len(recording.example_rows()) == 4
