"""The running example is the source's."""

import pytest

from tformer_lite import WordTokenizer, running_example


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


def test_devanagari_words_keep_their_vowel_signs():
    split = WordTokenizer({}).split
    assert split("मुख खाली थिएन।") == ["मुख", "खाली", "थिएन", "।"]
    assert split("Is it? Yes, it is!") == [
        "Is", "it", "?", "Yes", ",", "it", "is", "!",
    ]  # fmt: skip
