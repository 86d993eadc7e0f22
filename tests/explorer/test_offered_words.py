"""The page offers the words of the grammar, lets two change places, and says
what words mean."""

from itertools import product

import fillers
import grammar
import pytest
import weights

from explorer.scripts import FOLDER
from tests.helpers.playing import GIVEN
from tests.helpers.scripts import answer

pytestmark = pytest.mark.slow

OFFERED = """({ grammar, sentences }) => sentences.map((words) => [
  words.map((_, place) => fitting(grammar, words, place)),
  words.map((_, place) => following(grammar, words.slice(0, place))),
  isSentence(grammar, words)])"""


def offered(sentences: list[tuple[str, ...]]) -> list:
    given = {"grammar": GIVEN["grammar"], "sentences": sentences}
    return answer([FOLDER / "sentences.mjs"], OFFERED, given)


def test_a_word_is_offered_where_it_makes_a_sentence():
    every = weights.grammar_sentences()
    tried = sorted(every)[::97]
    words = sorted({word for words in every for word in words})
    for sentence, (fitting, following, whole) in zip(tried, offered(tried)):
        assert whole
        for place, known in enumerate(fitting):
            front, end = sentence[:place], sentence[place + 1 :]
            assert known == [w for w in words if (*front, w, *end) in every]
            assert set(known) <= set(following[place])


SWAPPED = """({ grammar, sentences }) =>
  sentences.map((words) => turnRound(grammar, words)?.turned ?? null)"""


def turned_round() -> dict[tuple[str, ...], tuple[str, ...]]:
    """Every sentence of who did what to whom, and the one in which the other
    did it, as the grammar's tables have them."""
    found, everybody = {}, [*fillers.somebodies()]
    for row in (x for x in grammar.CONSTRUCTIONS if x.fillers == "roles"):
        made = {}
        every = map(enumerate, (everybody, everybody, fillers.DATA["DONE"]))
        for (i, one), (j, other), (k, done) in product(*every):
            slots = fillers.role_slots(one, other, done)
            english = {name: pair[0] for name, pair in slots.items()}
            text = grammar.fill_slots(row.english, english)
            made[i, j, k] = tuple(grammar.split_words(text))
        found |= {made[i, j, k]: made[j, i, k] for i, j, k in made}
    return found


@pytest.mark.full
def test_two_change_places_in_every_sentence_that_allows_it():
    every, found = weights.grammar_sentences(), turned_round()
    given = {"grammar": GIVEN["grammar"], "sentences": sorted(every)}
    swaps = answer([FOLDER / "sentences.mjs"], SWAPPED, given)
    assert sum(map(bool, swaps)) > 4000
    for words, swap in zip(given["sentences"], swaps):
        other = found.get(words)
        assert swap == (list(other) if other in every else None), words


def test_a_word_says_what_it_means_and_whether_it_is_the_object():
    said = weights.glosses()
    known = "हरिले हरिलाई मलाई भोको कुकुरले कुकुरलाई कसले कहिल्यै के हिजो तपाईंले"
    assert [said[word] for word in known.split()] == [
        *("hari", "hari (object)", "me", "hungry", "dog", "dog (object)"),
        *("who", "never", "(yes or no?)", "yesterday", "you"),
    ]
    words = {word for word in GIVEN["words"][1] if word[0] not in "[।?"}
    assert words == said.keys()
    # The page marks two endings: no other words have them.
    everybody = [fillers.WHO, *fillers.somebodies()]
    agents = {one.agent.split()[-1] for one in everybody} | {"तपाईंले"}
    patients = {one.patient.split()[-1] for one in everybody}
    assert {word for word in words if word.endswith("ले")} == agents
    assert {word for word in words if word.endswith("लाई")} == patients
