"""What ships trained: the translator, and the results of the longer runs."""

import math
from statistics import mean

import pytest

from tformer_lite import (
    Recipe,
    english_tokenizer,
    greedy,
    nepali_tokenizer,
    perplexity,
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


def falls(losses: list[float]) -> bool:
    """Whether losses end far below their start, and at no NaN."""
    return losses[-1] < losses[0] / 2 and not any(map(math.isnan, losses))


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


def test_the_translator_learns_in_so_many_notes():
    result = stored("translator")
    recipe = Recipe(**result["recipe"])
    notes = math.ceil(recipe.steps / recipe.every)
    for part in ("train", "val"):
        losses = result[f"{part}_losses"]
        assert 15 <= len(losses) == notes <= 65
        assert losses[0] < math.log(1024)
        assert falls(losses)


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


def test_no_run_from_another_start_comes_near_ours():
    """Each at the rate at which it is best on average, which is one."""
    best = {
        start: max(rates, key=lambda rate: mean(column(rates[rate])))
        for start, rates in stored("starts").items()
    }
    assert {*best.values()} == {"0.03"}
    here, *others = (x["0.03"] for x in stored("starts").values())
    for other in others:
        assert min(column(here)) - max(column(other)) > 0.15
        assert min(column(other, "loss")) > max(column(here, "loss"))


def test_wsd_is_better_than_any_other_from_every_seed():
    """And a warm-up does less than a seed does."""
    result = {name: column(r) for name, r in stored("schedules").items()}
    assert len(result) == 6
    assert {*map(len, result.values())} == {5}
    assert all(min(each) > 0.65 for each in result.values())
    for name in result.keys() - {"wsd"}:
        assert min(result["wsd"]) > max(result[name])
    for name in ("constant", "cosine"):
        without, warm = result[name], result[f"{name} after a warm-up"]
        spread = max(max(each) - min(each) for each in (without, warm))
        assert abs(mean(warm) - mean(without)) < spread / 2


def test_what_is_known_on_the_way_rises_while_the_loss_falls():
    result = stored("learning")
    notes = result["recipe"]["steps"] // result["recipe"]["every"]
    assert [*result["seeds"]] == FIVE
    for run in result["seeds"].values():
        assert {*map(len, run.values())} == {notes}
        assert falls(run["train_losses"])
        assert falls(run["val_losses"])
        assert run["exact_match"][1] < 0.05  # after 100 steps
        assert run["exact_match"][-1] > 0.95


def test_source_002_learns_its_text_by_heart():
    result = stored("overfitting")
    assert [*result["seeds"]] == FIVE
    for run in result["seeds"].values():
        train, val = run["train_losses"], run["val_losses"]
        assert train[0] < math.log(result["vocab_size"])
        assert falls(train)
        assert 0 < val.index(min(val)) < len(val) - 4
        assert val[-1] > min(val) + 0.2
    assert result["parameters"] == 273_408 + 256 * result["vocab_size"]


@pytest.mark.parametrize("part", ["train", "valid"])
def test_positions_that_were_never_trained_guess_badly(part):
    result = stored("positions")[part]
    assert [*result] == FIVE
    for losses in result.values():
        near, far = losses[8:32], losses[32:]
        assert len(far) == 32
        assert min(far) > max(near)
        assert perplexity(sum(far) / 32) > 1.5 * perplexity(sum(near) / 24)


def test_our_character_model_ends_lower_than_nanogpts():
    result = stored("characters")
    assert {*map(len, result.values())} == {5}
    ours, nano = (result[name].values() for name in ("ours", "nanoGPT's"))
    assert max(ours) < min(nano) - 0.1


def test_an_unknown_result_is_refused_with_the_names_of_the_others():
    with pytest.raises(
        ValueError, match="name='loss' .*characters, .*variants"
    ):
        stored("loss")
