"""The engine of the pages computes as PyTorch does: its print-out, its
translations, its losses, its errors."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from packages import MY_TRANSFORMER, PAIRS

from tests.helpers.engine import alike, ask, in_pytorch, open_engine, printed
from tests.helpers.my_file import BUGGY, MY_TEXT, WITHOUT
from tests.helpers.playing import GIVEN

pytestmark = pytest.mark.slow

SNIPPETS = Path(__file__).with_name("snippets.txt").read_text("utf8")
HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
OTHER_NUMBERS = "dropout_for_ever"  # drawn otherwise than PyTorch draws them
FACTS = {fact["name"]: fact for fact in GIVEN["bugs"]}
SOME = ["no_positions", "norm_over_time", "softmax_over_heads", "sum_ignored"]


@pytest.fixture(scope="module")
def page(chromium):
    page = chromium.new_page()
    open_engine(page)
    return page


def test_the_file_prints_what_it_prints_with_pytorch(page, monkeypatch):
    monkeypatch.chdir(MY_TRANSFORMER.parent)
    monkeypatch.setattr("sys.argv", ["my_transformer.py"])
    [[found, parts]] = ask(page, {"do": "run", "text": MY_TEXT})
    assert found["error"] is None
    lines, *_ = in_pytorch(MY_TEXT)
    assert printed(parts) == lines
    assert len(lines) > 40


@pytest.mark.parametrize("text", SNIPPETS.split("\n---\n"))
def test_what_is_printed_and_refused_is_pytorchs(page, text):
    text = HEAD + text
    [[found, parts]] = ask(page, {"do": "run", "text": text})
    lines, error, line = in_pytorch(text)
    ours = printed(parts)
    assert len(ours) == len(lines)
    assert all(map(alike, ours, lines)), (ours, lines)
    assert (found["error"] or {}).get("message") == error
    assert (found["error"] or {}).get("line") == line


def quick_or_full(names: Iterable[str], quick: list[str]) -> list[Any]:
    """All names, of which but a few wait for `make full`."""
    marks = {name: pytest.mark.full for name in names if name not in quick}
    return [pytest.param(name, marks=marks.get(name, ())) for name in names]


@pytest.mark.parametrize("bug", quick_or_full(BUGGY, SOME[:2]))
def test_a_bug_leaves_as_many_translations_right_as_in_pytorch(page, bug):
    [[found, _]] = ask(page, {"do": "count", "text": BUGGY[bug]})
    right = FACTS[bug].get("still_right")
    if FACTS[bug].get("error"):
        assert found["error"]
    elif bug == OTHER_NUMBERS:
        assert abs(found["right"] - right) < 60
    else:
        assert found == {"error": None, "right": right, "of": 624}


TEXTS = BUGGY | {f"without {name}": text for name, text in WITHOUT.items()}
LEARN_TEN = """
whole = learn

def learn(*given):
    for step, loss in enumerate(whole(*given)):
        print(loss)
        if step == 9:
            return
        yield loss

train()
"""


@pytest.mark.parametrize("name", quick_or_full(TEXTS, SOME[2:]))
def test_the_first_losses_are_pytorchs(page, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pairs.tsv").symlink_to(PAIRS)
    text = TEXTS[name].partition("if __name__")[0] + LEARN_TEN
    [[found, parts]] = ask(page, {"do": "run", "text": text})
    lines, error, line = in_pytorch(text)
    ours = printed(parts)
    if name == OTHER_NUMBERS:
        lines, ours = lines[:1], ours[:1]
    assert all(map(alike, ours, lines)), (ours, lines)
    assert len(ours) == len(lines)
    assert (found["error"] or {}).get("message") == error
    assert (found["error"] or {}).get("line") == line


def test_an_endless_loop_is_stopped_and_the_next_run_begins_anew(page):
    [[found, _]] = ask(
        page, {"do": "run", "text": "while True: pass"}, wait=50
    )
    assert found == {"stopped": True}
    [[found, parts]] = ask(page, {"do": "run", "text": "print(1)"})
    assert printed(parts) == ["1"]


@pytest.mark.parametrize(
    "line", ["torch.einsum", "nn.LSTM", "F.fold", "torch.zeros(1).sort"]
)
def test_what_the_small_torch_lacks_it_says_and_where_to_go(page, line):
    [[found, _]] = ask(page, {"do": "run", "text": HEAD + line})
    assert "has no" in found["error"]["message"]
    assert "Colab" in found["error"]["message"]
    assert found["error"]["line"] == 4
