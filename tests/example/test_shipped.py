"""What ships trained: the translator, and the results of the longer runs."""

import math

import pytest

from tformer_lite import (
    english_tokenizer,
    greedy,
    nepali_tokenizer,
    stored,
    tiny_translator,
    trained_translator,
    translations,
)
from tformer_lite.example.shipped import STORED_FILES
from tformer_lite.text.tokenizers import EOS, SOS

FIVE = [*"12345"]


@pytest.fixture(scope="module")
def kept():
    return trained_translator()


def translate(kept, sentences: list[str]) -> list[str]:
    """Translate as a reader would: words to ids, ids to words."""
    english, nepali = kept.tokenizers
    src = english.encode([english.row(text, 8) for text in sentences])
    return [nepali.decode(ids) for ids in greedy(kept.model, src, SOS, EOS, 8)]


def column(runs: dict, name: str = "exact_match") -> list[float]:
    """A figure, from each seed: the share of test sentences that are right."""
    return [run[name] for run in runs.values()]


def test_the_translator_is_small_and_the_running_model(kept):
    assert kept.model.config == tiny_translator
    assert not kept.model.training
    assert kept.tokenizers[0].ids == english_tokenizer().ids
    assert kept.tokenizers[1].ids == nepali_tokenizer().ids
    assert (STORED_FILES / "translator.pt").stat().st_size < 230_000


def test_it_translates_as_many_test_sentences_as_its_results_say(kept):
    tested, result = translations("test"), stored("translator")
    written = translate(kept, [*tested])
    pairs = zip(written, tested.values())
    measured = sum(text in right for text, right in pairs) / len(tested)
    right = result["seeds"][str(result["recipe"]["seed"])]["exact_match"]
    assert abs(measured - right) < 1.5 / len(tested)
    assert kept.train_losses == result["train_losses"]
    assert kept.val_losses == result["val_losses"]


def test_sentences_of_every_kind_come_out_right_from_every_seed():
    runs = stored("translator")["seeds"]
    assert sorted(map(int, runs)) == [*range(1, 13)]
    for name in "exact_match", "roles", "other", "polite", "order":
        assert min(column(runs, name)) >= 0.99
        assert max(column(runs, name)) == 1


def test_a_start_decides_where_the_loss_begins():
    """ln V, but for source 000's matrices: about 11 to 13."""
    for start, rates in stored("starts").items():
        assert [*rates] == ["0.01", "0.03"]
        for runs in rates.values():
            assert [*runs] == FIVE
            for run in runs.values():
                if start == "source 000":
                    assert 9 < run["first_loss"] < 16
                else:
                    assert abs(run["first_loss"] - math.log(1024)) < 0.1


def test_an_unknown_result_is_refused_with_the_names_of_the_others():
    with pytest.raises(
        ValueError, match="name='loss' .*characters, .*variants"
    ):
        stored("loss")
