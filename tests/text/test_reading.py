"""Files that readers bring: read whole, or refused with the line."""

import os
from unicodedata import normalize

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tformer_lite import (
    WordTokenizer,
    read_pairs,
    read_text,
    vocabulary,
)

TATOEBA = """\
Go.\tजाऊ।\tCC-BY 2.0 (France) Attribution: tatoeba.org #1 (a) & #2 (b)
Is it far?\tके यो टाढा छ?\tCC-BY 2.0 (France) Attribution: tatoeba.org #3

I see.\tम देख्छु ।
Wait!\tपर्ख !\t
"""
PAIRS = [
    ("Go.", "जाऊ।"),
    ("Is it far?", "के यो टाढा छ?"),
    ("I see.", "म देख्छु ।"),
    ("Wait!", "पर्ख !"),
]
SIDE = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n\ufeff")
)
SIDE = SIDE.map(lambda text: normalize("NFC", text).strip()).filter(bool)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_pairs_are_read_as_manythings_writes_them(here, encoding, end):
    content = TATOEBA.replace("\n", end).encode(encoding)
    (here / "npi.txt").write_bytes(content)
    assert read_pairs("npi.txt") == PAIRS
    assert read_text("npi.txt") == TATOEBA


@pytest.mark.full
@given(pairs=st.lists(st.tuples(SIDE, SIDE), min_size=1))
@settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_pairs_come_back_from_their_file(pairs, tmp_path):
    file = tmp_path / "pairs.tsv"
    lines = "".join(f"{a}\t{b}\n" for a, b in pairs)
    file.write_bytes(lines.encode("utf8"))
    assert read_pairs(file) == pairs


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a\tb\n\nalone\n", "line 3: there is no tab in 'alone'. Write"),
        (b"a\tb\n \tb\n", "line 2: the first column of .* is empty. Write"),
        (b"a\t\tCC-BY\n", "line 1: the second column of .* is empty. Write"),
        (b"a\tb\n\t\n", "line 2: the first column .* is empty"),
        (b"a\tb\r\nc\t\xe9t\xe9\r\n", "line 2: the byte 0xe9 is not UTF-8"),
        (b"\xef\xbb\xbfa\tb\nc\n\xff", "line 3: the byte 0xff is not UTF-8"),
        ("a\tछ".encode("utf-16"), "line 1: the byte 0xff is not UTF-8. Open"),
        (b"a\tb\rc\t\x80", "line 2: the byte 0x80 is not UTF-8"),
    ],
)
def test_a_line_that_is_no_pair_is_named(here, content, said):
    (here / "mine.tsv").write_bytes(content)
    with pytest.raises(ValueError, match=f"^mine.tsv, {said}"):
        read_pairs("mine.tsv")


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf\n"])
@pytest.mark.parametrize("read", [read_text, read_pairs])
def test_a_file_without_text_is_refused(here, content, read):
    (here / "empty.txt").write_bytes(content)
    with pytest.raises(ValueError, match="^empty.txt has no text"):
        read("empty.txt")


def test_a_file_that_is_not_there_is_named_as_it_was_given(here):
    with pytest.raises(FileNotFoundError) as caught:
        read_pairs(os.path.join("data", "npi.txt"))
    assert str(here) not in str(caught.value)
    assert os.path.join("data", "npi.txt") in str(caught.value)


def test_letters_with_two_spellings_are_read_as_one(here):
    for name, word in (("one.txt", "\u095c"), ("two.txt", "\u0921\u093c")):
        (here / name).write_text(f"{word}\t{word}", encoding="utf8")
    assert read_text("one.txt") == read_text("two.txt")
    assert read_pairs("one.txt") == read_pairs("two.txt")


TEXTS = "the dog is not the cat.", "the cat is a cat!", "a dog"


def test_frequent_words_come_first_and_equals_by_their_spelling():
    """Counted by hand: cat the 3, a dog is 2, ! . not 1."""
    ids = vocabulary(TEXTS, WordTokenizer({}).split, size=99)
    order = ["cat", "the", "a", "dog", "is", "!", ".", "not"]
    assert list(ids.items()) == list(zip(order, range(4, 12)))
    assert vocabulary(TEXTS[::-1], WordTokenizer({}).split, 99) == ids


@pytest.mark.parametrize("size", range(4, 14))
def test_a_vocabulary_is_never_larger_than_its_size(size):
    ids = vocabulary(TEXTS, WordTokenizer({}).split, size)
    assert len(WordTokenizer(ids)) == min(size, 12)


def test_a_vocabulary_without_room_for_the_specials_is_refused():
    with pytest.raises(ValueError, match="size=3 is too small: .* need 4"):
        vocabulary(TEXTS, str.split, 3)


def test_a_text_that_writes_a_special_does_not_move_it():
    ids = vocabulary(["[PAD] is [EOS]"], WordTokenizer({}).split, 99)
    assert ids == {"is": 4}
