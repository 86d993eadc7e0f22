"""The words that a page offers: those of the corpus's grammar."""

import pytest
import weights

from tests.helpers.playing import GIVEN
from tests.helpers.scripts import answer
from tformer_lite import english_nepali
from tformer_lite.explorer.scripts import FOLDER

OFFERED = """({ grammar, sentences }) => sentences.map((words) => [
  words.map((_, place) => fitting(grammar, words, place)),
  words.map((_, place) => following(grammar, words.slice(0, place))),
  isSentence(grammar, words)])"""


def offered(sentences: list[tuple[str, ...]]) -> list:
    given = {"grammar": GIVEN["grammar"], "sentences": sentences}
    return answer([FOLDER / "sentences.mjs"], OFFERED, given)


@pytest.mark.slow
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


@pytest.mark.slow
def test_all_sentences_of_the_corpus_are_known_and_no_others():
    every = weights.grammar_sentences()
    parts = [english_nepali(part) for part in ("train", "valid", "test")]
    texts = {english for part in parts for english, _ in part}
    known = [weights.grammar.split_words(text) for text in sorted(texts)][::11]
    assert all(whole for *_, whole in offered(known))
    turned = [words[::-1] for words in known] + [[], known[0][:-1]]
    answers = [whole for *_, whole in offered(turned)]
    assert answers == [tuple(words) in every for words in turned]
    assert not any(answers)
