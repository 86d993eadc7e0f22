"""A beam search is drawn as it went: its words, their chances, their fate."""

import math
from itertools import pairwise

import pytest
import torch
from matplotlib.patches import PathPatch
from pictures.beam_tree import RIVER, Tree, beam_tree, lanes
from pictures.watched import WatchedBeams

from tests.helpers.drawings import letter_faults
from tformer_lite import beam, trained_translator
from tformer_lite.decoding.search import follow

KEPT = trained_translator()
ENGLISH, NEPALI = KEPT.tokenizers
ENDS = {"start": 2, "end": 3, "max_len": 8}
UNSEEN = "this was a good pen."  # where greed goes wrong
GLOSSES = {"राम्रो": "good", "थियो": "was", "कलम": "pen"}


def source(text: str) -> torch.Tensor:
    return ENGLISH.encode([ENGLISH.row(text, length=8)])


def watched(text: str, width: int) -> WatchedBeams:
    beams = WatchedBeams(source(text), 2, 3, width, 0.6)
    with torch.no_grad():
        follow(KEPT.model, source(text), beams, ENDS["max_len"])
    return beams


def drawn(text: str, width: int):
    given = {"words": NEPALI.words, "glosses": GLOSSES, "width": width}
    return beam_tree(KEPT.model, source(text), **ENDS, **given)


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("text", [UNSEEN, "the teacher ate."])
def test_it_is_the_search_and_the_chances_are_the_models(text, width):
    beams, src = watched(text, width), source(text)
    found = beam(KEPT.model, src, **ENDS, width=width)
    best, *_ = beams.ranked()
    row = [node.token for node in best.path()][::-1]
    assert row == found[0, : len(row)].tolist()
    with torch.no_grad():
        log_probs = KEPT.model(src, torch.tensor([row])).log_softmax(-1)[0]
    for node in best.path():
        if node.before:
            chance = log_probs[node.step - 1, node.token].exp().item()
            assert node.chance == pytest.approx(chance, abs=1e-4)
            total = node.before.total * chance
            assert node.total == pytest.approx(total, abs=1e-4)
    assert math.log(best.total) == pytest.approx(beams.total[0].item())


def test_what_was_dropped_is_told_from_what_was_kept():
    nodes = watched(UNSEEN, width=2).nodes
    for step in range(1, 5):
        assert sum(node.kept for node in nodes if node.step == step) == 2
    text = drawn(UNSEEN, width=2).text
    assert "यो राम्रो कलम थियो । [EOS] has 0.41" in text
    assert "5: यो राम्रो कलम राम्रो थिएन 0.37, together 0.21, dropped" in text


def test_lines_are_as_wide_as_what_leads_there_is_likely():
    totals = [node.total for node in watched(UNSEEN, width=2).nodes[1:]]
    patches = drawn(UNSEEN, width=2).figure.axes[0].patches
    wide = {p.get_linewidth() for p in patches if type(p) is PathPatch}
    expected = [max(0.7, RIVER * total) for total in totals]
    assert sorted(wide) == pytest.approx(sorted({*expected}), abs=1e-6)


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_no_two_lines_cross_and_no_two_words_share_a_place(width):
    beams = watched("she ate.", width)
    tree = Tree(beams, NEPALI.words, {})
    lane = lanes(tree.nodes, tree.steps)
    assert len({(node.step, lane[node]) for node in lane}) == len(lane)
    for step in range(1, tree.steps + 1):
        here = [node for node in lane if node.step == step]
        lines = sorted((lane[node.before], lane[node]) for node in here)
        assert all(a[1] < b[1] for a, b in pairwise(lines))
        assert all(start <= end for start, end in lines)


@pytest.mark.full
@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("text", [UNSEEN, "she ate.", "i am not cold."])
def test_words_have_room(text, width):
    assert letter_faults(drawn(text, width)) == []


@pytest.mark.parametrize(("width", "sources"), [(0, 1), (2, 2)])
def test_a_tree_grows_from_one_source(width, sources):
    src = source(UNSEEN).expand(sources, -1)
    with pytest.raises(ValueError, match=f"{width=} and {sources} sources"):
        beam_tree(KEPT.model, src, **ENDS, width=width, words=NEPALI.words)
