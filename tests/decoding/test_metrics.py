"""Scores have the values that their definitions give them."""

import math

import pytest
import torch

from tformer_lite import exact_match, perplexity

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


@pytest.mark.parametrize("many", [(2, 3), (3, 2), (0, 0)])
def test_each_text_needs_one_to_compare_it_with(many):
    written, wanted = (["मुख"] * n for n in many)
    said = f"{many[0]} texts written, {many[1]} wanted"
    with pytest.raises(ValueError, match=said):
        exact_match(written, wanted)
