"""Examples to train on, one by one and many at once."""

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler

from tests.helpers.small import small
from tformer_lite import (
    CharTokenizer,
    Chunks,
    DecoderOnly,
    EncoderDecoder,
    Pairs,
    Windows,
    WordTokenizer,
    fitting,
    running_example,
    split_text,
    tiny_translator,
    vocabulary,
)
from tformer_lite.text import datasets

ENGLISH = "the dog is small.", "the cat is not a dog.", "a cat.", "is it?"
NEPALI = "कुकुर सानो छ ।", "बिरालो कुकुर होइन ।", "बिरालो ।", "हो?"
SPLIT = WordTokenizer({}).split
SOURCE = WordTokenizer(vocabulary(ENGLISH, SPLIT, 99))
TARGET = WordTokenizer(vocabulary(NEPALI, SPLIT, 99))
PAIRS = list(zip(ENGLISH, NEPALI))
TEXT = torch.arange(100, 130)


@pytest.fixture(scope="module")
def data():
    return Pairs(PAIRS, SOURCE, TARGET, length=9)


def test_rows_are_laid_out_as_in_the_running_example():
    book = running_example()
    english = WordTokenizer(datasets.ENGLISH)
    nepali = WordTokenizer(datasets.NEPALI)
    (src, tgt), labels = Pairs(datasets.PAIRS, english, nepali)[[0, 1]]
    assert src.equal(book.src)
    assert tgt.equal(book.tgt)
    assert labels.equal(book.labels)


def test_every_pair_is_there_and_reads_as_it_was(data):
    assert len(data) == 4
    assert data.src.shape == data.tgt.shape == data.labels.shape == (4, 9)
    assert [SOURCE.decode(row) for row in data.src] == list(ENGLISH)
    assert [TARGET.decode(row) for row in data.labels] == list(NEPALI)


def test_one_pair_is_a_row_of_the_batch(data):
    (src, tgt), labels = data[[2, 0]]
    (one, two), three = data[0]
    assert src.shape == tgt.shape == labels.shape == (2, 9)
    assert [x.shape for x in (one, two, three)] == [(9,)] * 3
    assert (one.equal(src[1]), two.equal(tgt[1])) == (True, True)
    assert three.equal(labels[1])


def test_a_word_without_an_id_becomes_unk():
    (src, _), labels = Pairs([("a zebra.", "जेब्रा ।")], SOURCE, TARGET)[[0]]
    assert SOURCE.decode(src[0]) == "a [UNK]."
    assert TARGET.decode(labels[0]) == "[UNK] ।"


@pytest.mark.parametrize("length", range(3, 10))
def test_a_pair_that_is_too_long_is_named_and_can_be_left_out(length):
    """By the sentences' words, counted by hand, and the specials."""
    needs = [max(5 + 2, 4 + 1), max(7 + 2, 4 + 1), 5, 5]
    fit = [pair for pair, need in zip(PAIRS, needs) if need <= length]
    assert fitting(PAIRS, SOURCE, TARGET, length) == fit
    if fit:
        assert len(Pairs(fit, SOURCE, TARGET, length)) == len(fit)
    for left_out in set(PAIRS) - set(fit):
        with pytest.raises(ValueError, match=rf"tokens .* {length=}: leave"):
            Pairs([left_out], SOURCE, TARGET, length)


def test_a_target_may_be_what_is_too_long():
    pair = "is it?", "बिरालो कुकुर होइन बिरालो कुकुर ।"
    assert fitting([pair], SOURCE, TARGET, 6) == []
    with pytest.raises(ValueError, match="बिरालो कुकुर ।' has 7 tokens"):
        Pairs([pair], SOURCE, TARGET, 6)
    assert fitting([pair], SOURCE, TARGET, 7) == [pair]


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


def test_windows_take_no_memory_of_their_own():
    data = Windows(TEXT, size=20)
    assert data.windows.data_ptr() == TEXT.data_ptr()
    assert data.windows.untyped_storage().nbytes() == 30 * 8


@pytest.mark.parametrize("kind", [torch.int64, torch.int32, torch.uint8])
@pytest.mark.parametrize(("n", "size"), [(9, 8), (10, 8), (16, 8), (30, 1)])
def test_chunks_have_each_label_once_after_as_much_as_fits(n, size, kind):
    """Also in one row, and whatever whole numbers the ids are."""
    data = Chunks(TEXT[:n].to(kind), size)
    rows = list(range(len(data)))
    (x,), y = data[rows]
    assert x.shape == y.shape == (-(-(n - 1) // size), size)
    assert y[y != data.ignore].tolist() == TEXT[1:n].tolist()
    assert (x + 1)[y != data.ignore].tolist() == TEXT[1:n].tolist()
    for row in rows:
        (one,), label = data[row]
        assert one.equal(x[row])
        assert label.equal(y[row])


@pytest.mark.parametrize("n", [0, 1, 32])
def test_a_text_too_short_for_a_window_says_how_long_it_must_be(n):
    with pytest.raises(ValueError, match=f"of {n} ids .* size=32: .* 33"):
        Windows(TEXT.new_zeros(n), 32)
    assert len(Windows(TEXT.new_zeros(33), 32)) == 1


def test_a_text_is_one_row_and_a_window_not_empty():
    with pytest.raises(ValueError, match=r"\(1, 30\), not \(N\): .* one row"):
        Windows(TEXT[None], 8)
    with pytest.raises(ValueError, match="size=0: .* at least 1"):
        Windows(TEXT, 0)


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
        (4, 0.0, "share=0.0 is not between 0 and 1"),
        (4, 80, "share=80 is not between 0 and 1"),
    ],
)
def test_a_part_without_a_window_is_refused(size, share, said):
    with pytest.raises(ValueError, match=said):
        split_text(TEXT, size, share)


def numbers(data) -> list[list[int]]:
    """The labels of each example, in order."""
    return sorted(data[i][1].tolist() for i in range(len(data)))


@pytest.fixture(params=["Pairs", "Windows"])
def examples(request, data):
    return data if request.param == "Pairs" else Windows(TEXT, 8)


def test_an_ordinary_data_loader_gives_every_example_once(examples):
    loader = DataLoader(examples, batch_size=3, shuffle=True)
    batches = list(loader)
    assert len(batches) == -(-len(examples) // 3)
    for inputs, labels in batches:
        assert all(x.shape == labels.shape for x in inputs)
    seen = torch.cat([labels for _, labels in batches]).tolist()
    assert sorted(seen) == numbers(examples)


def test_a_batch_sampler_fetches_many_rows_at_once(examples):
    rows = BatchSampler(RandomSampler(examples), 3, drop_last=False)
    loader = DataLoader(examples, sampler=rows, batch_size=None)
    seen = []
    for inputs, labels in loader:
        assert all(x.shape == labels.shape for x in inputs)
        seen += labels.tolist()
    assert sorted(seen) == numbers(examples)


def test_the_same_two_lines_serve_both_models(data):
    torch.manual_seed(0)
    text = "amar sonar bangla"
    tokenizer = CharTokenizer(text)
    windows = Windows(tokenizer.encode(text), 6)
    writer = DecoderOnly(small("char_lm"))
    coder = EncoderDecoder(tiny_translator)
    short = Pairs(PAIRS[:1], SOURCE, TARGET)
    for model, examples in ((writer, windows), (coder, short)):
        inputs, labels = examples[[0, 0]]
        assert model(*inputs).shape[:2] == labels.shape
