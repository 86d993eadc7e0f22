"""`train translate` and `translate`: pairs; sentences unlike them, which are
doubted; and what is seen inside, with `--heatmap` and `--shapes`."""

import io
import re
import sys
from dataclasses import replace

import pytest
import torch

from tests.helpers.commands import PAIRS, char, refusal, translate
from tformer_lite import (
    Checkpoint,
    WordTokenizer,
    beam,
    greedy,
    load_checkpoint,
    save_checkpoint,
    stored,
    trace,
    trained_translator,
)
from tformer_lite.__main__ import main
from tformer_lite.commands.arguments import read
from tformer_lite.commands.learning.translators import book_corpus, own_corpus
from tformer_lite.commands.session import known_words
from tformer_lite.drawing.surface import picture
from tformer_lite.training.origin import Origin

NOWHERE = Origin(path=None, fingerprint="")
LONG = [("one two red old new big sun.", "a ।"), ("sea.", "a b c d e f g h")]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A translator of a few steps."""
    folder = tmp_path_factory.mktemp("trained")
    assert main(translate(folder, "--steps", "30", "--warmup", "3")) == 0
    return folder / "model.pt"


def say(ckpt, *words: str) -> list[str]:
    """The words of a command that translates."""
    return ["translate", *words, "--ckpt", str(ckpt)]


@pytest.mark.slow
def test_without_a_path_it_learns_the_book_corpus_at_the_books_size(
    capsys, tmp_path
):
    path = str(tmp_path / "model.pt")
    command = ["train", "translate", "--steps", "1", "--save_path", path]
    assert main(command) == 0
    said = capsys.readouterr().out
    count = [f"{len(part):,}" for part in book_corpus()[:3]]
    parts = "{} for training, {} for validation, {} for test".format(*count)
    assert f"Loaded pairs: {parts}\n" in said
    assert "Model parameters: 41,256\n" in said
    kept = load_checkpoint(path)
    words = [len(tokenizer) for tokenizer in kept.tokenizers]
    assert words == [len(one) for one in book_corpus().tokenizers]


def test_it_is_trained_as_the_translator_that_ships():
    options = vars(read(["train", "translate"]))
    recipe = stored("translator")["recipe"]
    recipe["betas"] = tuple(recipe["betas"])  # a list in JSON
    names = options.keys() & recipe.keys() - {"seed"}
    assert names >= {"steps", "batch_size", "lr", "schedule", "weight_decay"}
    assert {n: options[n] for n in names} == {n: recipe[n] for n in names}


def test_pairs_of_ones_own_are_parted_and_those_that_do_not_fit_left_out(
    capsys, tmp_path
):
    """64 pairs that fit, twice, and 2 that do not: some 6, 6 and 52."""
    pairs = PAIRS + LONG + PAIRS
    assert main(translate(tmp_path, "--steps", "1", pairs=pairs)) == 0
    said = capsys.readouterr()
    assert "2 of 66 pairs do not fit into 8 tokens" in said.err
    assert "49 for training, 6 for validation, 9 for test" in said.out
    corpus = own_corpus(pairs, NOWHERE, 8, vocab_size=9)
    three = [set(part) for part in corpus[:3]]
    assert set.union(*three) == set(PAIRS)
    assert sum(map(len, three)) == len(PAIRS)
    for tokenizer, side in zip(corpus.tokenizers, zip(*corpus.train)):
        assert len(tokenizer) == 9
        assert {w for w in tokenizer.ids if w[0] != "["} < set(
            " ".join(side).replace(".", " .").split()
        )


@pytest.mark.full
def test_the_share_of_exact_translations_is_counted_on_the_test(
    capsys, tmp_path
):
    """Every test pair is written as it is wanted, or with what is wanted."""
    main(translate(tmp_path, "--steps", "400", "--batch_size", "52"))
    lines = capsys.readouterr().out.splitlines()
    (report,) = (line for line in lines if line.startswith("Test: "))
    corpus = own_corpus(PAIRS, NOWHERE, 8, 1024)
    kept = load_checkpoint(tmp_path / "model.pt")
    source, target = kept.tokenizers
    right = 0
    for english, nepali in corpus.test:
        src = source.encode([source.row(english, 8)])
        (row,) = greedy(kept.model, src, 2, 3, 8)
        right += target.decode(row) == nepali
    assert right > 0
    share = f"exact match {right / 9:.1%}"
    assert report.startswith(f"Test: 9 sentences, {share}")
    assert "(BLEU and chrF: how many runs of words, and of letters" in report
    shown = [line for line in lines if " -> " in line]
    assert len(shown) == 3 * 10 + 3  # at each note, and in the end
    for line, (english, _) in zip(shown, 10 * corpus.valid[:3]):
        assert line.startswith(f"  {english} -> ")
    assert all(line.count("wanted") == 1 for line in shown[-3:])


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 3])
def test_sentences_are_translated_in_order(width, capsys, trained):
    """The witnesses: `greedy`, and `beam`."""
    sentences = ["one two.", "sea sun."]
    assert main([*say(trained, *sentences), "--beam", str(width)]) == 0
    kept = load_checkpoint(trained)
    source, target = kept.tokenizers
    for line, sentence in zip(capsys.readouterr().out.splitlines(), sentences):
        src = source.encode([source.row(sentence, 8)])
        row = greedy(kept.model, src, 2, 3, 8)
        if width > 1:
            row = beam(kept.model, src, 2, 3, 8, width)
        assert line == target.decode(row[0])


def test_lines_of_stdin_are_translated_when_no_sentence_is_given(
    capsys, trained, monkeypatch
):
    main(say(trained, "one two.", "sea sun."))
    wanted = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.StringIO("one two.\nsea sun.\n"))
    assert main(say(trained)) == 0
    assert capsys.readouterr().out == wanted
    for line in "a" * 10**6, "one\0two":
        monkeypatch.setattr(sys, "stdin", io.StringIO(line))
        assert "stdin is no text: give lines" in refusal(capsys, *say(trained))


@pytest.mark.slow
def test_what_it_cannot_translate_is_refused(capsys, trained, tmp_path):
    said = refusal(capsys, *say(trained, "one two red old new big."))
    assert "has 7 words and marks, and the translator reads 6" in said
    main(char(tmp_path, "--steps", "1"))
    said = refusal(capsys, *say(tmp_path / "model.pt", "one."))
    assert "a model for `generate`, and here one for `translate`" in said
    said = refusal(capsys, "generate", "one", "--ckpt", trained)
    assert "a model for `translate`, and here one for `generate`" in said


BOOK, BOOKS = "this is not my book.", "यो मेरो किताब होइन ।\n"
TOO_LONG = "this is not my book this is not."


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


def test_a_line_of_output_is_the_translation_of_that_line(capsys, monkeypatch):
    lines = [BOOK, "", "  ", TOO_LONG, "\udcff", "café.", BOOK]
    content = "\r\n".join(lines).encode("utf8", "surrogateescape")
    pipe = io.BytesIO(b"\xef\xbb\xbf" + content)
    # On a machine whose own encoding is ASCII.
    pipe = io.TextIOWrapper(pipe, encoding="ascii")
    monkeypatch.setattr(sys, "stdin", pipe)
    assert main(["translate"]) == 2
    said = capsys.readouterr()
    written = said.out.split("\n")
    assert len(written) == len(lines) + 1
    assert [i for i, line in enumerate(written[:-1]) if not line] == [
        *range(1, 5)
    ]
    assert written[0] == written[6] == BOOKS.strip()
    assert said.err.splitlines() == [
        f"tformer_lite: line 4: '{TOO_LONG}' has 9 words and marks, and the "
        "translator reads 6 at most: shorten it.",
        "tformer_lite: line 5: the byte 0xff is not UTF-8: save the text as "
        "UTF-8.",
        "line 6: Not in the vocabulary, and read as [UNK]: 'café': "
        "this translation may be wrong.",
    ]


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
    assert main(["translate"]) == 0
    assert capsys.readouterr() == (f"{BOOKS * 2}\n", "")

    def stopped(sign: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", stopped)
    assert main(["translate"]) == 130
    assert capsys.readouterr() == ("\n", "tformer_lite: stopped\n")


ENGLISH = "they will buy bread."
NEPALI = "उनीहरू रोटी किन्नेछन् ।"


@pytest.mark.slow
def test_a_heatmap_shows_where_each_word_comes_from(capsys, tmp_path):
    """The witnesses: the heads' weights, traced here; rows that sum to 1;
    and *bread*, the fourth of the words, from which रोटी is written."""
    path = tmp_path / "a" / "new" / "looks.svg"
    assert main(["translate", ENGLISH, "--heatmap", str(path)]) == 0
    assert capsys.readouterr().out == f"{NEPALI}\nHeatmap saved to {path}\n"
    texts = re.findall(r">([^<>\n]+)</text>", path.read_text("utf8"))
    assert {"cross-attention, mean over heads", "(5,", "7)"} <= {*texts}
    assert {"[SOS]", *ENGLISH[:-1].split(), ".", "[EOS]"} <= {*texts}
    assert {*NEPALI.split()} <= {*texts}
    assert (texts.count("[SOS]"), texts.count("[EOS]")) == (1, 2)
    cells = [float(text) for text in texts if re.fullmatch(r"\d\.\d\d", text)]
    rows = [cells[i : i + 7] for i in range(0, 35, 7)]
    assert len(cells) == 35
    assert all(abs(sum(row) - 1) < 0.05 for row in rows)
    assert max(rows[1]) == rows[1][4] > 0.5
    kept = trained_translator()
    source, target = kept.tokenizers
    src = source.encode([source.row(ENGLISH, 7)])
    tgt = target.encode([target.row(NEPALI, 6)])[:, :-1]
    seen = trace(kept.model, src, tgt, keep=True)
    heads = [one.weights[0] for one in seen.attention()]
    wanted = sum(heads[-1]) / 3
    assert (torch.tensor(rows) - wanted).abs().max() < 0.0051
    main(["translate", ENGLISH, "--heatmap", str(path.with_suffix(".png"))])
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_png_is_refused_where_nepali_would_fall_into_letters(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr(picture, "SHAPES_COMPLEX", False)
    path = tmp_path / "looks.png"
    said = refusal(capsys, "translate", ENGLISH, "--heatmap", path)
    assert "letter by letter: write an .svg" in said
    assert not path.exists()
    assert main(["translate", ENGLISH, "--heatmap", f"{path}.svg"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("english", "s", "t"),
    [(ENGLISH, 7, 5), ("this is not my book.", 8, 6), ("ram is sad.", 6, 5)],
)
def test_the_shapes_are_those_of_this_sentence(english, s, t, capsys):
    assert main(["translate", english, "--shapes"]) == 0
    written, source, target, *tree = capsys.readouterr().out.splitlines()
    assert source == f"S={s}: [SOS] {english[:-1]} . [EOS]"
    assert target == f"T={t}: [SOS] {written}"
    assert f"B=1, S={s}, T={t}, " in tree[1]
    assert tree[0] == (
        "EncoderDecoder  (B, S) int64, (B, T) int64 -> (B, T, V)"
    )
    assert any("cross_attention" in line for line in tree)
    assert not any("?" in line or "~" in line for line in tree)
    # No option of this command shows more: none is offered.
    assert not any("tree(" in line or "calls()" in line for line in tree)
    assert tree[-1] == "depth=3 of 4"
