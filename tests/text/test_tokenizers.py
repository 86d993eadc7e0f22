"""The running example is the source's; ids become texts again, of words
and of characters."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tformer_lite import (
    CharTokenizer,
    WordTokenizer,
    english_tokenizer,
    nepali_tokenizer,
    running_example,
)

WORDS = "the", "dog", "is", "not", "मुख", "खाली", "थिएन", "छैन"
fixed = settings(deadline=None, derandomize=True, database=None)
KNOWN = WordTokenizer({w: i for i, w in enumerate([*WORDS, *".,!?।"], 4)})


def test_the_first_pair_has_the_ids_that_its_source_prints():
    example = running_example()
    assert example.src[0].tolist() == [2, 0, 9, 19, 0, 4, 3, 1]
    assert example.tgt[0].tolist() == [2, 0, 668, 92, 4, 1, 1, 1]
    assert example.labels[0].tolist() == [0, 668, 92, 4, 3, 1, 1, 1]


def test_devanagari_words_keep_their_vowel_signs():
    split = WordTokenizer({}).split
    assert split("मुख खाली थिएन।") == ["मुख", "खाली", "थिएन", "।"]
    assert split("Is it? Yes, it is!") == [
        "Is", "it", "?", "Yes", ",", "it", "is", "!",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([2, 6, 7, 4, 3, 1, 1], "is not."),
        ([6, 999, 3, 7], "is [UNK]"),
        ([6, 9, 7, 8, 5], "is, not!?"),
        ([], ""),
    ],
)
def test_a_row_of_ids_is_read_up_to_its_end(ids, text):
    marks = {".": 4, "?": 5, "!": 8, ",": 9}
    tokenizer = WordTokenizer({"is": 6, "not": 7} | marks)
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode(torch.tensor(ids)) == text


def test_the_danda_keeps_its_space_and_a_full_stop_has_none():
    example = running_example()
    english, nepali = english_tokenizer(), nepali_tokenizer()
    assert english.decode(example.src[1]) == "the hungry dog saw hari."
    assert nepali.decode(example.labels[1]) == "भोको कुकुरले हरिलाई देख्यो ।"
    assert nepali.decode(example.tgt[0]) == "[UNK] खाली थिएन ।"


@pytest.mark.parametrize(
    ("vocabulary", "named"),
    [
        ({"dog": 2}, "'dog' cannot have the id 2: 0 to 3 belong to"),
        ({"dog": 5, "cat": 5}, "'cat' cannot have the id 5"),
        ({"[PAD]": 7}, r"'\[PAD\]' cannot have the id 7"),
    ],
)
def test_two_words_never_share_an_id(vocabulary, named):
    with pytest.raises(ValueError, match=named):
        WordTokenizer(vocabulary)


def test_characters_are_numbered_in_their_order():
    """Source 002's tokenizer: the sorted set of a text's characters."""
    text = "अमर cab\n"
    tokenizer = CharTokenizer(text)
    table = {c: i for i, c in enumerate(sorted(set(text)))}
    assert tokenizer.ids == table
    assert tokenizer.encode("cab").tolist() == [table[c] for c in "cab"]
    assert tokenizer.encode("").dtype == torch.int64


@pytest.mark.slow
@given(st.text())
@fixed
def test_any_text_comes_back_from_its_characters_ids(text):
    tokenizer = CharTokenizer(text)
    ids = tokenizer.encode(text)
    assert ids.shape == (len(text),)
    assert tokenizer.decode(ids) == text
    assert tokenizer.known(text) == text


def test_unknown_characters_are_named_and_can_be_left_out():
    tokenizer = CharTokenizer("amar")
    with pytest.raises(ValueError, match=r"^no id for '\\n', 'X': .* known"):
        tokenizer.encode("X\nramX")
    assert tokenizer.known("a X\nm?") == "am"
    assert tokenizer.known("XYZ") == ""


@pytest.mark.parametrize("bad", [-1, 3, 99])
def test_an_id_without_a_character_is_named(bad):
    with pytest.raises(ValueError, match=f"id {bad} .* from 0 to 2"):
        CharTokenizer("amar").decode([0, bad])


@pytest.mark.parametrize("tokenizer", [KNOWN, CharTokenizer("amar")])
def test_a_batch_is_read_row_by_row(tokenizer):
    with pytest.raises(ValueError, match=r"\(2, 1\), not \(T\): .* one row"):
        tokenizer.decode(torch.ones(2, 1, dtype=torch.long))
