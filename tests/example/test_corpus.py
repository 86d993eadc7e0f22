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
    running_example,
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


def test_there_are_more_than_2000_pairs_in_three_parts():
    assert len(PAIRS) >= 2000
    for name, share in (("train", 0.8), ("valid", 0.1), ("test", 0.1)):
        assert abs(len(PARTS[name]) / len(PAIRS) - share) < 0.04


def test_one_english_sentence_has_one_nepali_sentence_and_back():
    for side in zip(*PAIRS):
        assert len(set(side)) == len(PAIRS)


def test_a_sentence_has_at_most_8_tokens_with_its_start_and_end():
    for side in zip(*PAIRS):
        assert max(len(words(text)) for text in side) == 6


def test_sentences_are_written_as_the_running_example_is():
    for english, nepali in PAIRS:
        assert re.fullmatch(r"[a-z']+( [a-z']+)+[.?]", english)
        assert re.fullmatch(r"[\u0900-\u097f ]+( ।|[^ ]\?)", nepali)
        assert nepali == normalize("NFC", nepali)
        assert english.endswith("?") == nepali.endswith("?")


def test_every_word_is_in_8_training_sentences():
    for i, tokenizer in enumerate(TOKENIZERS):
        seen = Counter(
            w for pair in PARTS["train"] for w in set(words(pair[i]))
        )
        known = tokenizer.ids.keys() - {"[UNK]", "[PAD]", "[SOS]", "[EOS]"}
        assert {w for pair in PAIRS for w in words(pair[i])} == known
        assert min(seen[word] for word in known) >= 8


def test_what_is_tested_is_brought_together_nowhere_in_training():
    cores = {
        name: {one.core for one in part}
        for name, part in grammar.corpus_parts().items()
    }
    assert not cores["test"] & (cores["train"] | cores["valid"])
    assert not cores["valid"] & cores["train"]
    assert {s.construction for s in grammar.corpus_parts()["test"]} == {
        row.name for row in CONSTRUCTIONS
    }


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


def test_the_running_example_has_its_ids():
    example = running_example()
    for i, (ids, rows) in enumerate(
        [(example.src, example.src_words), (example.tgt, example.tgt_words)]
    ):
        assert TOKENIZERS[i].encode(rows).equal(ids)
    for tokenizer, word in zip(TOKENIZERS, ("mouth", "मुख")):
        assert word not in tokenizer.ids
    assert "empty" not in TOKENIZERS[0].ids


def test_other_words_have_the_ids_that_are_left_most_frequent_first():
    for i, (tokenizer, fixed) in enumerate(
        zip(TOKENIZERS, ({4, 9, 19}, {4, 92, 668}))
    ):
        seen = Counter(w for pair in PARTS["train"] for w in words(pair[i]))
        free = {n: w for w, n in tokenizer.ids.items() if n > 3} | {}
        order = [free[n] for n in sorted(free.keys() - fixed)]
        assert order == sorted(order, key=lambda w: (-seen[w], w))
        left = sorted(free.keys() - fixed)
        assert left == [n for n in range(5, left[-1] + 1) if n not in fixed]
        assert max(free) < 1024


def test_a_sentence_comes_back_from_its_ids():
    for i, tokenizer in enumerate(TOKENIZERS):
        for pair in PARTS["test"]:
            row = tokenizer.encode([tokenizer.row(pair[i], 8)])[0]
            assert tokenizer.decode(row) == pair[i]


def test_an_unknown_part_is_refused_by_name():
    with pytest.raises(ValueError, match="part='dev'.*train, valid, test"):
        english_nepali("dev")
