"""`translate` and what it was not trained on: other letters, other words,
other sentences, and lines that nobody could translate."""

import io
import sys
from dataclasses import replace

import pytest
import torch

from tests.helpers.commands import refusal
from tformer_lite import (
    Checkpoint,
    WordTokenizer,
    english_nepali,
    load_checkpoint,
    save_checkpoint,
    train_pieces,
    trained_translator,
)
from tformer_lite.__main__ import main
from tformer_lite.commands.session import known_words
from tformer_lite.text.pieces import PieceTokenizer

BOOK, BOOKS = "this is not my book.", "यो मेरो किताब होइन ।\n"
LONG = "this is not my book this is not."


def stdin(monkeypatch, content: bytes) -> None:
    """Let stdin be a pipe, on a machine whose own encoding is ASCII."""
    pipe = io.TextIOWrapper(io.BytesIO(content), encoding="ascii")
    monkeypatch.setattr(sys, "stdin", pipe)


@pytest.mark.slow
def test_words_take_the_letters_that_the_vocabulary_has(capsys):
    for typed in ("This is not my book.", "THIS is Not my bOOk."):
        assert main(["translate", typed]) == 0
        assert capsys.readouterr() == (BOOKS, "")
    main(["translate", "I am happy.", "i am happy."])
    said = capsys.readouterr()
    assert said.err == ""
    assert len({*said.out.splitlines()}) == 1


@pytest.mark.parametrize(
    ("text", "found", "unknown"),
    [
        ("Us US us", "us US us", []),
        ("we see Us", "we see [UNK]", ["Us"]),
        ("we see. Us", "we see . us", []),
        ("WE SEE nepal", "we see Nepal", []),
        ("Nepal Moon moon", "Nepal [UNK] [UNK]", ["Moon", "moon"]),
        ("[SOS] we [EOS]", "[UNK] we [UNK]", ["[SOS]", "[EOS]"]),
        ("", "", []),
    ],
)
def test_a_form_is_taken_where_a_sentence_begins_or_if_it_is_the_only_one(
    text, found, unknown
):
    ids = {
        w: i for i, w in enumerate(["we", "see", "us", "US", "Nepal", "."], 4)
    }
    assert known_words(text, WordTokenizer(ids)) == (found.split(), unknown)


def test_words_of_pieces_take_their_letters_too(tmp_path):
    """The pieces have small letters alone, and no z."""
    texts = [english for english, _ in english_nepali()]
    train_pieces(texts, 120, tmp_path / "pieces.txt")
    pieces = PieceTokenizer(tmp_path / "pieces.txt")
    small = pieces.split("this is not my book.")
    assert known_words("This is NOT my book.", pieces) == (small, [])
    assert known_words("zoo Zoo", pieces)[1] == ["zoo", "Zoo"]


def test_a_line_of_output_is_the_translation_of_that_line(capsys, monkeypatch):
    lines = [BOOK, "", "  ", LONG, "\udcff", "café.", BOOK]
    content = "\r\n".join(lines).encode("utf8", "surrogateescape")
    stdin(monkeypatch, b"\xef\xbb\xbf" + content)
    assert main(["translate"]) == 2
    said = capsys.readouterr()
    written = said.out.split("\n")
    assert len(written) == len(lines) + 1
    assert [i for i, line in enumerate(written[:-1]) if not line] == [
        *range(1, 5)
    ]
    assert written[0] == written[6] == BOOKS.strip()
    assert said.err.splitlines() == [
        f"tformer_lite: line 4: '{LONG}' has 9 words and marks, and the "
        "translator reads 6 at most: shorten it.",
        "tformer_lite: line 5: the byte 0xff is not UTF-8: save the text as "
        "UTF-8.",
        "line 6: Not in the vocabulary, and read as [UNK]: 'café': "
        "this translation may be wrong.",
    ]


def test_each_line_is_answered_before_the_next_is_read(capsys, monkeypatch):
    class Pipe(io.StringIO):
        def __iter__(self):
            for _ in range(3):
                yield f"{BOOK}\n"
                assert capsys.readouterr().out == BOOKS

    monkeypatch.setattr(sys, "stdin", Pipe())
    assert main(["translate"]) == 0


def test_sentences_too_long_for_a_message_are_cut_in_it(capsys):
    said = refusal(capsys, "translate", "word " * 10_000)
    assert "'word word" in said
    assert "…' has 10000 words and marks" in said
    assert len(said) < 200


def test_a_sentence_unlike_those_of_the_training_is_doubted(capsys):
    asked = ["they bought a book.", BOOK, "this is my book", "Moon bought a."]
    assert main(["translate", *asked]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 4
    assert said.err.splitlines() == [
        "sentence 1: No sentence that the translator was trained on has "
        "'bought a': this translation may be wrong.",
        "sentence 3: No sentence that the translator was trained on has "
        "'book' at its end: this translation may be wrong.",
        "sentence 4: Not in the vocabulary, and read as [UNK]: 'Moon': this "
        "translation may be wrong.",
    ]


def test_what_a_checkpoint_keeps_of_its_sentences_is_what_is_usual(
    capsys, tmp_path
):
    """It has seen nothing but *this is a*."""
    kept = trained_translator()
    ids = [kept.tokenizers[0].ids[word] for word in ("this", "is", "a")]
    triples = torch.tensor([ids])
    for one, said in ((triples, "'is not' or 'not my'"), (None, "")):
        told = replace(kept, word_triples=one)
        save_checkpoint(told, tmp_path / "model.pt")
        assert main(["translate", BOOK, "--ckpt", f"{tmp_path}/model.pt"]) == 0
        found = capsys.readouterr()
        assert found.out == BOOKS
        assert said in found.err
        assert bool(said) is bool(found.err)


def test_a_translator_that_is_unsure_says_so(capsys, tmp_path):
    """All words are alike to it: 1 of 1,024, which is 0 %."""
    kept = trained_translator()
    with torch.no_grad():
        kept.model.head.weight.zero_()
    parts = kept.model, kept.tokenizers, kept.block_size
    save_checkpoint(Checkpoint(*parts), tmp_path / "model.pt")
    assert load_checkpoint(tmp_path / "model.pt").training == {}
    assert main(["translate", BOOK, "--ckpt", f"{tmp_path}/model.pt"]) == 0
    assert capsys.readouterr().err == (
        "The translator gives a word that it writes a chance of 0%: "
        "this translation may be wrong.\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["\n", "", " \nthis is.\n"])
def test_somebody_is_asked_until_a_line_is_empty(ends, capsys, monkeypatch):
    stdin(monkeypatch, f"{BOOK}\n{LONG}\n{BOOK}\n{ends}".encode())
    assert main(["translate", "--interactive"]) == 0
    said = capsys.readouterr()
    assert said.out == BOOKS * 2
    assert "has 9 words" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.slow
def test_at_a_terminal_there_is_a_sign_and_ctrl_d_ends(capsys, monkeypatch):
    typed = iter([BOOK, BOOK])

    def answer(sign: str) -> str:
        assert sign == "translate> "
        if line := next(typed, ""):
            return line
        raise EOFError

    monkeypatch.setattr("builtins.input", answer)
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    assert main(["translate", "--interactive"]) == 0
    assert capsys.readouterr() == (f"{BOOKS * 2}\n", "")
    monkeypatch.setattr("builtins.input", stopped)
    assert main(["translate", "--interactive"]) == 130
    assert capsys.readouterr() == ("\n", "tformer_lite: stopped\n")


def stopped(sign: str) -> str:
    raise KeyboardInterrupt
