"""The English-Nepali corpus: correct by its tables, and split as it says."""

import re
from collections import Counter
from unicodedata import normalize

import grammar
import pytest
from fillers import MAKES, QUALITIES
from grammar import CONSTRUCTIONS

from tformer_lite import (
    english_nepali,
    english_tokenizer,
    nepali_tokenizer,
    translations,
)

PARTS = {name: english_nepali(name) for name in ("train", "valid", "test")}
PAIRS = [pair for part in PARTS.values() for pair in part]
TOKENIZERS = english_tokenizer(), nepali_tokenizer()


def words(text: str) -> list[str]:
    return re.findall(r"[^\s.?।]+|[.?।]", text)


@pytest.mark.slow
def test_the_grammar_writes_the_shipped_files():
    for name, text in grammar.corpus_files().items():
        assert (grammar.TEXTS / name).read_bytes() == text.encode(), name


def test_there_are_more_than_2000_pairs_and_no_translation_twice():
    assert len(PAIRS) >= 2000
    sentences = {name: len(translations(name)) for name in PARTS}
    for name, share in (("train", 0.8), ("valid", 0.1), ("test", 0.1)):
        assert abs(sentences[name] / sum(sentences.values()) - share) < 0.04
    assert len({nepali for _, nepali in PAIRS}) == len(PAIRS)
    for side in zip(*PAIRS):
        # With its start and end a sentence has at most 8 tokens.
        assert max(len(words(text)) for text in side) == 6


@pytest.mark.parametrize("name", PARTS)
def test_a_sentence_with_several_translations_is_of_one_of_two_kinds(name):
    found = translations(name)
    pairs = [(english, text) for english in found for text in found[english]]
    assert sorted(pairs) == sorted(PARTS[name])
    for english, right in found.items():
        if len(right) == 2:  # polite
            assert english.startswith("you ")
            (*elder, polite, _), (*friend, verb, _) = map(words, sorted(right))
            assert elder[0].removesuffix("ले") == "तपाईं"
            assert friend[0].removesuffix("ले") == "तिमी"
            assert friend[1:] == elder[1:]
            assert verb != polite
        elif len(right) > 1:  # order
            rows = [words(text) for text in right]
            assert len({row[0] for row in rows}) == len(rows) == 4
            assert len({row[-2] for row in rows}) == 1  # the verb
            canonical = min(rows, key=lambda row: row[0][-2:] != "ले")
            for first, *others in rows:
                assert others == [word for word in canonical if word != first]
    several = {1} if name == "valid" else {1, 2, 4}
    assert {*map(len, found.values())} == several


def test_sentences_are_written_as_the_running_example_is():
    for english, nepali in PAIRS:
        assert re.fullmatch(r"[a-z']+( [a-z']+)+[.?]", english)
        assert re.fullmatch(r"[\u0900-\u097f ]+( ।|[^ ]\?)", nepali)
        assert nepali == normalize("NFC", nepali)
        assert english.endswith("?") == nepali.endswith("?")


def test_every_word_is_in_8_training_sentences():
    for i, tokenizer in enumerate(TOKENIZERS):
        counts = Counter(
            w for pair in PARTS["train"] for w in set(words(pair[i]))
        )
        vocabulary = {word for word in tokenizer.ids if word[0] != "["}
        assert {w for pair in PAIRS for w in words(pair[i])} == vocabulary
        assert min(counts[word] for word in vocabulary) >= 8


def test_what_is_tested_is_brought_together_nowhere_in_training():
    parts = grammar.corpus_parts()
    cores = {name: {x.core for x in parts[name]} for name in parts}
    assert not cores["test"] & (cores["train"] | cores["valid"])
    assert not cores["valid"] & cores["train"]
    constructions = {sentence.construction for sentence in parts["test"]}
    assert constructions == {row.name for row in CONSTRUCTIONS}


def test_no_noun_meets_an_adjective_of_the_test_in_training():
    def met(name):
        return {
            (noun, quality)
            for english, _ in PARTS[name]
            for noun in MAKES.keys() & set(words(english))
            for quality in QUALITIES.keys() & set(words(english))
        }

    assert len(met("test")) > 10
    assert not met("test") & (met("train") | met("valid"))


def test_a_sentence_comes_back_from_its_ids():
    for side, tokenizer in zip(zip(*PARTS["test"]), TOKENIZERS):
        ids = tokenizer.encode([tokenizer.row(text, 8) for text in side])
        assert [tokenizer.decode(row) for row in ids] == [*side]


def test_an_unknown_part_is_refused_by_name():
    with pytest.raises(ValueError, match="part='dev'.*train, valid, test"):
        english_nepali("dev")
