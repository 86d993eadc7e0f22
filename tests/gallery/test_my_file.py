"""Bugs, and parts that may be left out, are changed lines of the reader's
file."""

import json
import re

import one_file
import pytest
import weights

from gallery import bug, bugs
from tests.helpers.my_file import BUGGY, WITHOUT
from tformer_lite import trained_translator

FILE, PARTS_LEFT_OUT = weights.MY_TEXT, weights.PARTS_LEFT_OUT
STORED = json.loads(weights.WEIGHTS_FILE.read_text("utf8"))


def changed_lines(text: str) -> set[tuple[str, str]]:
    """The lines that are others than the file's, which has as many."""
    both = zip(FILE.splitlines(), text.splitlines(), strict=True)
    return {(old.strip(), new.strip()) for old, new in both if old != new}


def test_one_bug_the_file_has_anyway():
    assert {one.name for one in bugs()} - BUGGY.keys() == {"no_key_left"}
    src = weights.torch.full((1, 8), weights.my_module(FILE).PAD)
    model = weights.my_module(FILE).EncoderDecoder(9, 8, 1, 12, 3, 48)
    assert model(src, src).isnan().all()


@pytest.mark.parametrize("name", BUGGY)
def test_a_bug_is_one_line_of_the_file(name):
    right, wrong = bug(name).mine
    assert changed_lines(BUGGY[name]) == {(right, wrong)}
    assert FILE.replace(right, wrong) == BUGGY[name]
    assert FILE.count(right) == 1 + ("self.self_attention(first" in right)


def test_what_is_left_out_is_one_line_or_the_same_in_several():
    lines = {name: changed_lines(text) for name, text in WITHOUT.items()}
    many = {name: len(lines[name]) for name in lines if len(lines[name]) > 1}
    assert many == {"norms": 3, "sums around attention": 2}
    assert all(lines.values())


def test_chapters_lead_to_the_training_without_a_part_that_there_is():
    texts = [file.read_text("utf8") for file in one_file.CHAPTERS.glob("*.md")]
    names = re.findall(r"train\.html#change=([\w+-]+)", "".join(texts))
    assert len(names) == 4
    assert {name.replace("+", " ") for name in names} <= PARTS_LEFT_OUT.keys()


def test_pages_have_what_is_planted_and_left_out():
    edits = {
        one["name"]: (one["right"], one["wrong"]) for one in STORED["bugs"]
    }
    assert edits == {name: bug(name).mine for name in BUGGY}
    left_out = [{"name": x} | y for x, y in PARTS_LEFT_OUT.items()]
    assert STORED["left_out"] == left_out


def near(stored: dict, now: dict) -> bool:
    """Whether facts agree but for a few sentences: where two words are nearly
    as likely, another processor may choose the other one."""
    counts = "still_right", "changed"
    most = 60 if stored["name"] == "dropout_for_ever" else 5
    far = [abs(stored.get(x, 0) - now.get(x, 0)) > most for x in counts]
    one, other = (
        {**facts, **dict.fromkeys(counts)} for facts in (stored, now)
    )
    return one == other and not any(far)


@pytest.mark.parametrize("name", ["no_scale", "blocks_in_a_list"])
def test_pages_say_what_is_measured(name):
    (stored,) = (one for one in STORED["bugs"] if one["name"] == name)
    assert near(stored, weights.bug_data(bug(name)))


@pytest.mark.full
def test_pages_have_the_numbers_that_ship():
    assert STORED["run"]["rights"][-1][1] > 0.99
    now = json.loads(weights.json_text(trained_translator(), STORED["run"]))
    assert all(map(near, STORED["bugs"], now["bugs"])), "run `make weights`"
    same = STORED.keys() - {"bugs", "first"}
    assert {x: now[x] for x in same} == {x: STORED[x] for x in same}


def test_the_file_translates_all_sentences_of_the_test():
    rows = weights.my_translations(FILE)
    english = {sentence for sentence, _, right in rows if right}
    assert english == set(STORED["tests"])
