"""Scores have the values that their papers and their library give them."""

import math
import sys

import pytest
import torch

from tformer_lite import bleu, chrf, exact_match, perplexity

WANTED = ["मुख खाली थिएन ।", "घर ठूलो छ ।", "किताब मेरो हो ।"]


def test_a_guess_among_n_alike_has_perplexity_n():
    """A loss of ln 1024 = 6.93: nothing learned, of 1,024 tokens."""
    assert perplexity(math.log(1024)) == pytest.approx(1024)
    assert perplexity(0) == 1
    assert perplexity(1e6) == math.inf
    assert perplexity(torch.tensor(65.0).log()) == pytest.approx(65)


def test_exact_match_is_the_share_of_equal_texts():
    assert exact_match(["a b", "c", "d"], ["a b", "c", "e"]) == 2 / 3
    assert exact_match(WANTED, WANTED) == 1
    assert exact_match([""], [" "]) == 0


@pytest.mark.parametrize("metric", [exact_match, bleu, chrf])
@pytest.mark.parametrize("many", [(2, 3), (3, 2), (0, 0)])
def test_each_text_needs_one_to_compare_it_with(metric, many):
    written, wanted = (["मुख"] * n for n in many)
    said = f"{many[0]} texts written, {many[1]} wanted"
    with pytest.raises(ValueError, match=said):
        metric(written, wanted)


def test_bleu_is_papinenis():
    """Equation by hand: 7 of 8 words, 5 of 6 pairs, 3 of 4 threes, 1 of 2
    fours; as long as wanted, so no penalty."""
    wanted = ["a b c d", "e f g h"]
    written = ["a b c d", "x f g h"]
    share = (7 / 8 * 5 / 6 * 3 / 4 * 1 / 2) ** (1 / 4)
    found = bleu(written, wanted, tokenize="none")
    assert found.value == pytest.approx(100 * share)
    assert bleu(wanted, wanted).value == pytest.approx(100)
    assert bleu(["x x x x"], ["a b c d"]).value == 0


def test_the_danda_is_cut_off_as_a_word():
    apart, joined = ["मुख खाली थिएन ।"], ["मुख खाली थिएन।"]
    assert bleu(joined, apart).value == pytest.approx(100)
    assert bleu(joined, apart, tokenize="13a").value < 60


def test_a_signature_says_how():
    assert "tok:intl" in bleu(WANTED, WANTED).signature
    assert "tok:none" in bleu(WANTED, WANTED, tokenize="none").signature
    assert "nc:6|nw:0" in chrf(WANTED, WANTED).signature
    for found in (bleu(WANTED, WANTED), chrf(WANTED, WANTED)):
        assert "nrefs:1" in found.signature
        assert "version:2" in found.signature


def test_without_the_library_the_error_says_what_to_do(monkeypatch):
    for name in ("sacrebleu", "sacrebleu.metrics"):
        monkeypatch.setitem(sys.modules, name, None)
    assert exact_match(["a"], ["a"]) == 1
    with pytest.raises(ImportError, match="^BLEU and chrF need") as caught:
        bleu(["a"], ["a"])
    assert "pip install sacrebleu" in str(caught.value)
