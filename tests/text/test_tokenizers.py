"""The running example is the source's; ids become texts again."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tformer_lite import (
    CharTokenizer,
    WordTokenizer,
    lay_out,
    running_example,
)
from tformer_lite.text.datasets import ENGLISH, NEPALI, PAIRS

WORDS = "the", "dog", "is", "not", "मुख", "खाली", "थिएन", "छैन"
fixed = settings(deadline=None, derandomize=True, database=None)
KNOWN = WordTokenizer({w: i for i, w in enumerate([*WORDS, *".,!?।"], 4)})


def test_the_first_pair_has_the_ids_that_its_source_prints():
    example = running_example()
    assert example.src[0].tolist() == [2, 0, 9, 19, 0, 4, 3, 1]
    assert example.tgt[0].tolist() == [2, 0, 668, 92, 4, 1, 1, 1]
    assert example.labels[0].tolist() == [0, 668, 92, 4, 3, 1, 1, 1]


def test_labels_are_the_target_one_step_later():
    example = running_example()
    for target, labels in zip(example.tgt, example.labels, strict=True):
        words = (target != 1).sum()
        assert labels[: words - 1].equal(target[1:words])
        assert labels[words - 1] == 3


def test_words_stand_beside_their_ids():
    example = running_example()
    assert example.src_words[0] == [
        "[SOS]", "mouth", "is", "not", "empty", ".", "[EOS]", "[PAD]",
    ]  # fmt: skip
    assert example.tgt_words[0][1:5] == ["मुख", "खाली", "थिएन", "।"]
    assert [len(words) for words in example.tgt_words] == [8, 8]


def test_the_second_pair_is_padded_further():
    assert (running_example().src == 1).sum(-1).tolist() == [1, 2]


def test_a_row_that_is_too_short_for_its_words_is_refused():
    with pytest.raises(ValueError, match="7 tokens .* length=6"):
        running_example(length=6)


def test_that_refusal_names_the_sentence_and_what_to_do():
    words = r"'\[SOS\] mouth is not empty . \[EOS\]' .* leave it out, or"
    with pytest.raises(ValueError, match=words):
        running_example(length=6)


def test_pairs_are_laid_out_as_the_running_example_is():
    tokenizers = WordTokenizer(ENGLISH), WordTokenizer(NEPALI)
    mine, book = lay_out(PAIRS, *tokenizers), running_example()
    assert all(a.equal(b) for a, b in zip(mine[:3], book[:3]))
    assert mine[3:] == book[3:]
    with pytest.raises(ValueError, match="no pairs .* at least one"):
        lay_out([], *tokenizers)


def test_a_sentence_to_translate_is_laid_out_as_a_source_row():
    english = WordTokenizer(ENGLISH)
    ids = english.encode([english.row("mouth is not empty.", 8)])
    assert ids[0].tolist() == [2, 0, 9, 19, 0, 4, 3, 1]


def test_devanagari_words_keep_their_vowel_signs():
    split = WordTokenizer({}).split
    assert split("मुख खाली थिएन।") == ["मुख", "खाली", "थिएन", "।"]
    assert split("Is it? Yes, it is!") == [
        "Is", "it", "?", "Yes", ",", "it", "is", "!",
    ]  # fmt: skip


def test_two_spellings_that_look_alike_are_one_word():
    """Unicode writes the letter rra as one sign, or as two."""
    split = WordTokenizer({}).split
    assert split("\u095c") == split("\u0921\u093c")
    assert split("caf\u00e9") == split("cafe\u0301")


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([2, 6, 7, 4, 3, 1, 1], "is not."),
        ([0, 6, 7, 4], "[UNK] is not."),
        ([6, 999, 3, 7], "is [UNK]"),
        ([6, 9, 7, 8, 5], "is, not!?"),
        ([2, 1, 1], ""),
        ([3], ""),
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
    english, nepali = WordTokenizer(ENGLISH), WordTokenizer(NEPALI)
    assert english.decode(example.src[1]) == "is not [UNK]."
    assert nepali.decode(example.labels[1]) == "खाली थिएन ।"
    assert nepali.decode(example.tgt[0]) == "[UNK] खाली थिएन ।"


@pytest.mark.full
@given(st.lists(st.sampled_from(sorted(KNOWN.ids.keys() - {"[UNK]"}))))
@fixed
def test_known_words_come_back_as_they_went_in(words):
    words = [word for word in words if word[0] != "["]
    ids = KNOWN.encode([KNOWN.row(" ".join(words), 99)])
    text = KNOWN.decode(ids[0])
    assert KNOWN.split(text) == words
    again = KNOWN.encode([KNOWN.row(text, 99)])
    assert again.equal(ids)
    assert KNOWN.decode(again[0]) == text


def test_the_length_is_the_size_of_a_table_with_every_id():
    assert [len(WordTokenizer(v)) for v in ({}, ENGLISH, NEPALI)] == [
        4, 20, 669
    ]  # fmt: skip
    assert len(CharTokenizer("amar sonar bangla")) == len("abglmnors ")


@pytest.mark.parametrize(
    ("vocabulary", "named"),
    [
        ({"dog": 2}, "'dog' cannot have the id 2: 0 to 3 belong to"),
        ({"dog": 5, "cat": 5}, "'cat' cannot have the id 5"),
        ({"[PAD]": 7}, r"'\[PAD\]' cannot have the id 7"),
        ({"dog": -1}, "'dog' cannot have the id -1"),
    ],
)
def test_two_words_never_share_an_id(vocabulary, named):
    with pytest.raises(ValueError, match=named):
        WordTokenizer(vocabulary)


def test_a_vocabulary_may_list_the_specials_where_they_are():
    assert WordTokenizer(KNOWN.ids).ids == KNOWN.ids


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


def test_no_words_are_ids_all_the_same():
    for rows, shape in (([], (0,)), ([[]], (1, 0))):
        ids = KNOWN.encode(rows)
        assert (ids.dtype, ids.shape) == (torch.int64, shape)
