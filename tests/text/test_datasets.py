"""Files that readers bring, and examples to train on, one by one and many at
once; which pairs are held out."""

from itertools import chain
from random import Random

import pytest
import torch

from tformer_lite import (
    Chunks,
    Pairs,
    Windows,
    english_tokenizer,
    nepali_tokenizer,
    read_text,
    running_example,
    split_pairs,
    split_text,
)
from tformer_lite.example import running

WORDS = ("one", "two", "red", "old", "new", "big", "sun", "sea")
WORD_PAIRS = [
    (f"{a} {b}.", f"{b[::-1]} {a[::-1]} ।") for a in WORDS for b in WORDS
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_text_is_read_whatever_ends_its_lines(here, encoding, end):
    (here / "a.txt").write_bytes(f"A\x85b{end}c{end}".encode(encoding))
    assert read_text("a.txt") == "A\x85b\nc\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a\r\nc\t\xe9t\xe9\r\n", "is not UTF-8 text, see byte 5: op"),
        ("a\tछ".encode("utf-16"), "is not UTF-8 text, see byte 0: open it"),
        (b"a\tb\n" + bytes(9), "is not UTF-8 text, see character 4: ope"),
        (b"\n \n", "has no text"),
        (b"\xef\xbb\xbf\n", "has no text"),
    ],
)
def test_what_is_no_text_is_refused(here, content, said):
    (here / "mine.txt").write_bytes(content)
    with pytest.raises(ValueError, match=f"^mine.txt {said}"):
        read_text("mine.txt")


def test_letters_with_two_spellings_are_read_as_one(here):
    for name, word in (("one.txt", "\u095c"), ("two.txt", "\u0921\u093c")):
        (here / name).write_text(f"{word}\t{word}", encoding="utf8")
    assert read_text("one.txt") == read_text("two.txt")


TEXT = torch.arange(100, 130)


def test_rows_are_laid_out_as_in_the_running_example():
    book = running_example()
    tokenizers = english_tokenizer(), nepali_tokenizer()
    data = Pairs(running.PAIRS, *tokenizers)
    for rows in ([0, 1], 0):
        (src, tgt), labels = data[rows]
        assert src.equal(book.src[rows])
        assert tgt.equal(book.tgt[rows])
        assert labels.equal(book.labels[rows])


@pytest.mark.parametrize(
    ("pair", "tokens"),
    [(("it is the dog.", "कुकुर ।"), 7), (("it.", "त्यो त्यहाँ छ हो छ ।"), 7)],
)
def test_a_pair_that_is_too_long_is_named(pair, tokens):
    """By the words, counted by hand, and the specials."""
    book = english_tokenizer(), nepali_tokenizer()
    assert len(Pairs([pair], *book, tokens)) == 1
    with pytest.raises(ValueError, match=f"has {tokens} tokens .*: leave"):
        Pairs([pair], *book, tokens - 1)


def test_a_window_is_followed_by_itself_one_id_later():
    """As in source 002: ids[i : i + size], and ids[i + 1 : i + 1 + size]."""
    data = Windows(TEXT, size=8)
    assert len(data) == len(TEXT) - 8
    for i in range(len(data)):
        (x,), y = data[i]
        assert x.equal(TEXT[i : i + 8])
        assert y.equal(TEXT[i + 1 : i + 1 + 8])
    (x,), y = data[[5, 3]]
    assert x.shape == y.shape == (2, 8)
    assert x[:, 0].tolist() == [105, 103]
    assert y[:, -1].tolist() == [113, 111]


@pytest.mark.parametrize("kind", [torch.int64, torch.int32, torch.uint8])
@pytest.mark.parametrize(("n", "size"), [(9, 8), (10, 8), (16, 8), (30, 1)])
def test_chunks_have_each_label_once_after_as_much_as_fits(n, size, kind):
    """Also in one row, and whatever whole numbers the ids are."""
    data = Chunks(TEXT[:n].to(kind), size)
    rows = list(range(len(data)))
    (x,), y = data[rows]
    assert x.shape == y.shape == (-(-(n - 1) // size), size)
    assert y.dtype == torch.int64  # which has room for `ignore`
    assert y[y != data.ignore].tolist() == TEXT[1:n].tolist()
    assert (x + 1)[y != data.ignore].tolist() == TEXT[1:n].tolist()
    for row in rows:
        (chunk,), label = data[row]
        assert chunk.equal(x[row])
        assert label.equal(y[row])


@pytest.mark.parametrize(
    ("ids", "size", "said"),
    [
        (TEXT.new_zeros(32), 32, "of 32 ids .* size=32: .* 33"),
        (TEXT[None], 8, r"\(1, 30\), not \(N\): .* one row"),
        (TEXT, 0, "size=0: .* at least 1"),
    ],
)
def test_a_text_that_has_no_windows_is_refused(ids, size, said):
    with pytest.raises(ValueError, match=said):
        Windows(ids, size)
    assert len(Windows(TEXT.new_zeros(33), 32)) == 1


def test_the_first_four_fifths_are_for_training():
    """Source 002: the cut is at int(N * 0.8), and no window crosses it."""
    train, valid = split_text(TEXT, size=4)
    assert (len(train), len(valid)) == (24 - 4, 6 - 4)
    assert train[len(train) - 1][1][-1] == 123
    assert valid[0][0][0][0] == 124
    assert valid[len(valid) - 1][1][-1] == 129


@pytest.mark.parametrize(
    ("size", "share", "said"),
    [
        (6, 0.8, "share=0.8 cuts 30 ids into 24 and 6: .* at least 7"),
        (8, 0.2, "share=0.2 cuts 30 ids into 6 and 24: .* at least 9"),
        (4, 1.0, "share=1.0 is not between 0 and 1"),
    ],
)
def test_a_part_without_a_window_is_refused(size, share, said):
    with pytest.raises(ValueError, match=said):
        split_text(TEXT, size, share)


MANY = [(f"{a} {b} {c}.", f"{c} {b} ।") for a, b in WORD_PAIRS for c in WORDS]


def sides(pairs, seed=0) -> dict[tuple[str, str], int]:
    """The part that each pair is in: 0, 1 or 2."""
    parts = split_pairs(pairs, seed)
    return {pair: i for i, part in enumerate(parts) for pair in part}


def test_each_pair_is_in_one_part_in_the_order_of_the_file():
    parts = split_pairs(MANY)
    assert sorted(chain(*parts)) == sorted(MANY)
    assert all(part == [x for x in MANY if x in part] for part in parts)


def test_a_line_more_or_less_or_elsewhere_moves_no_other():
    part_of, random = sides(MANY), Random(0)
    for _ in range(20):
        some = random.sample(MANY, random.randrange(200, len(MANY)))
        new = [("a new line.", "नयाँ"), ("another one", "अर्को")]
        parts = sides([*new, *some])
        assert all(parts[pair] == part_of[pair] for pair in some)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("Is it yours?", "is it  yours ?", True),
        ("it is!", " it is…", True),
        ("यो मेरो हो ।", "यो मेरो हो", True),
        ("caf\u00e9", "cafe\u0301", True),
        ("1\u00a0km", "1 km", True),
        ("a cat", "a car", False),
        ("1.5", "1.6", False),
    ],
)
def test_translations_of_one_sentence_stay_together(one, other, together):
    """Whatever the seed is; others are parted by some seed."""
    pairs = [(one, "a"), (other, "b"), (one, "c")]
    parts = [sides([*MANY, *pairs], seed) for seed in range(60)]
    same = [len({part[pair] for pair in pairs}) == 1 for part in parts]
    assert all(same) == together


@pytest.mark.parametrize("count", [3, 4, 10, 15])
def test_no_part_of_a_small_file_is_empty(count):
    for seed in range(200):
        parts = split_pairs(WORD_PAIRS[:count], seed)
        assert all(parts)
        assert sum(map(len, parts)) == count


def test_two_sentences_make_no_three_parts():
    pairs = [("Yes.", str(i)) for i in range(9)] + [("no", "x"), ("yes", "y")]
    with pytest.raises(ValueError, match="^2 different source sentences"):
        split_pairs(pairs)


def test_the_split_is_the_same_on_every_machine():
    """The witness: printf '3 bignew' | sha256sum gives 00079740e885...; a
    tenth of 16 ** 12 is 199999999999."""
    assert [english for english, _ in split_pairs(WORD_PAIRS, 3)[2]] == [
        "one old.", "one new.", "two red.", "old one.", "big old.", "big new.",
    ]  # fmt: skip
