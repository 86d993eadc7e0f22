"""A model's own method that writes: its words are those of full runs."""

import pytest
import torch

from shapewatch.properties import generation
from tests.helpers import writing_on
from tests.helpers.strangers import GPT, IDS

WRONG = {
    "FirstRow": "generate: after the prompt, it goes on with",
    "LastWordOnly": "as the likeliest. Look at which row is read",
    "Prepends": "is not kept: it gives [",
    "TimesHeat": "with temperature=2, logits are 2.00 times as far apart",
    "Worst": "with top_k=2, it draws from 48 words, not the best 2.",
    "Endless": "it goes on after the word that is given as eos.",
}


def asked(name):
    torch.manual_seed(1)
    return generation(getattr(writing_on, name)().eval(), IDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_what_is_written_otherwise_than_full_runs_say_is_broken(name):
    finding = asked(name)
    assert finding.level == "broken", finding
    assert WRONG[name] in finding.says


def test_words_that_are_chosen_by_other_numbers_are_unusual():
    finding = asked("OtherNumbers")
    assert finding.level == "unusual"
    assert "word 1 is chosen by other numbers" in finding.says


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Writer", "Cool", "NewOnly"])
def test_right_writers_are_right(name):
    assert asked(name).holds, asked(name)


def test_what_nobody_knows_how_to_call_is_not_judged():
    assert "generate asks for grammar" in asked("Asks").says
    assert generation(GPT(), IDS).holds is None
