"""Words cut into pieces, by a vocabulary trained on the reader's texts."""

import sys

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from tformer_lite import (
    Pairs,
    PieceTokenizer,
    WordTokenizer,
    train_pieces,
)
from tformer_lite.text.tokenizers import SPECIALS

TEXTS = [
    "the dog is walking, the dogs are walking.",
    "the cat is sleeping! are the cats sleeping?",
    "कुकुर हिँडिरहेको छ ।",
    "कुकुरहरू र बिरालोहरू सुतिरहेका छन् ।",
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A vocabulary trained on a few sentences in two scripts."""
    file = tmp_path_factory.mktemp("pieces") / "pieces.txt"
    train_pieces(TEXTS, 90, file)
    return file


def test_the_specials_have_the_books_ids(file):
    pieces = file.read_text("utf8").split("\n")
    assert tuple(pieces[:4]) == SPECIALS
    assert len(set(pieces)) == len(pieces) == len(PieceTokenizer(file)) <= 90


def test_words_are_cut_and_joined_again(file):
    tokenizer = PieceTokenizer(file)
    for text in TEXTS:
        row = tokenizer.row(text, 99)
        assert tokenizer.decode(tokenizer.encode([row])[0]) == text
    unseen = tokenizer.split("sleep walks")
    assert "[UNK]" not in unseen
    assert len(unseen) > 2
    assert "".join(unseen).replace("##", "") == "sleepwalks"


def test_the_pieces_are_those_of_the_librarys_own_tokenizer(file):
    tokenizer = PieceTokenizer(file)
    model = models.WordPiece(tokenizer.ids, unk_token="[UNK]")
    theirs = Tokenizer(model)
    theirs.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    for text in [*TEXTS, "a cat 7 walk. कुकुरको"]:
        spaced = " ".join(WordTokenizer({}).split(text))
        pieces = tokenizer.split(text)
        assert pieces == theirs.encode(spaced).tokens
        ids = tokenizer.encode([pieces])[0].tolist()
        assert ids == theirs.encode(spaced).ids


def test_vowel_signs_and_joiners_stay(file, tmp_path):
    """BERT's own normaliser strips both, and other words are left."""
    text = "गर्\u200dयो ।"
    train_pieces([text], 60, tmp_path / "pieces.txt")
    tokenizer = PieceTokenizer(tmp_path / "pieces.txt")
    ids = tokenizer.encode([tokenizer.split(text)])[0]
    assert tokenizer.decode(ids) == text


def test_a_word_that_no_pieces_make_up_is_unknown(file):
    tokenizer = PieceTokenizer(file)
    assert tokenizer.split("the 犬 is") == ["the", "[UNK]", "is"]


def test_a_translator_is_trained_on_pieces_as_on_words(file):
    tokenizer = PieceTokenizer(file)
    pairs = [(TEXTS[0], TEXTS[2]), (TEXTS[1], TEXTS[3])]
    (src, tgt), labels = Pairs(pairs, tokenizer, tokenizer, 60)[[0, 1]]
    assert src.shape == tgt.shape == labels.shape == (2, 60)
    assert src[:, 0].tolist() == tgt[:, 0].tolist() == [2, 2]
    end = labels[0].tolist().index(3)
    assert tgt[0, 1 : end + 1].equal(labels[0, :end])
    assert [tokenizer.decode(row) for row in labels] == TEXTS[2:]


def test_a_size_below_the_number_of_characters_is_refused(tmp_path):
    file = tmp_path / "pieces.txt"
    with pytest.raises(ValueError, match="size=10 is too small: .* pieces"):
        train_pieces(TEXTS, 10, file)
    assert not file.exists()


def test_a_file_of_another_kind_is_refused(tmp_path):
    file = tmp_path / "vocab.txt"
    file.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\ndog")
    with pytest.raises(ValueError, match=r"'\[PAD\]' cannot have the id 0"):
        PieceTokenizer(file)


def test_without_the_library_one_sentence_says_what_to_install(
    file, monkeypatch
):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    said = "library tokenizers, which is missing: run pip install"
    for call in (
        lambda: PieceTokenizer(file),
        lambda: train_pieces([], 9, ""),
    ):
        with pytest.raises(ImportError, match=said):
            call()
