"""`train translate` and `translate`: pairs; sentences unlike them, which are
doubted; and what is seen inside, with `--heatmap` and `--shapes`."""

import io
import random
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
from tformer_lite.commands.learning import course
from tformer_lite.commands.learning.translators import (
    split_corpus,
    translator_for,
)
from tformer_lite.commands.options import AS_IN_BOOK
from tformer_lite.commands.session import known_words
from tformer_lite.drawing.surface import picture
from tformer_lite.example.shipped import CORPUS_PARTS, english_nepali
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
    count = [f"{len(english_nepali(part)):,}" for part in CORPUS_PARTS]
    parts = "{} for training, {} for validation, {} for test".format(*count)
    assert f"Loaded pairs: {parts}\n" in said
    assert "Model parameters: 41,256\n" in said
    kept = load_checkpoint(path)
    shipped = trained_translator().tokenizers
    assert [x.ids for x in kept.tokenizers] == [x.ids for x in shipped]
    recipe = stored("translator")["recipe"]
    recipe["betas"] = tuple(recipe["betas"])  # a list in JSON
    assert AS_IN_BOOK["steps"] == recipe["steps"]
    names = recipe.keys() & kept.training["recipe"].keys() - {"seed", "every"}
    assert names >= {"batch_size", "lr", "schedule", "weight_decay"}
    wanted = {n: recipe[n] for n in names} | {"steps": 1}
    assert {n: kept.training["recipe"][n] for n in names} == wanted


def test_pairs_of_ones_own_are_parted_and_those_that_do_not_fit_left_out(
    capsys, tmp_path
):
    """64 pairs that fit, twice, and 2 that do not: some 6, 6 and 52."""
    pairs, words = PAIRS + LONG + PAIRS, ["--max_len=8", "--vocab_size=9"]
    assert main(translate(tmp_path, "--steps=1", *words, pairs=pairs)) == 0
    said = capsys.readouterr()
    left_out = "Left out: 2 of 66 pairs do not fit into 8 tokens."
    assert f"{left_out} --max_len 10 takes in all of them.\n" in said.err
    assert "49 for training, 6 for validation, 9 for test" in said.out
    whole = split_corpus(pairs, NOWHERE)
    three = [set(part) for part in whole]
    assert set.union(*three) == {*PAIRS, *LONG}
    assert sum(map(len, three)) == len(PAIRS) + len(LONG)
    out = len(three[2]) - 9
    assert f"Test: 9 of {9 + out} held-out sentences" in said.out
    kept = load_checkpoint(tmp_path / "model.pt")
    for tokenizer, side in zip(kept.tokenizers, zip(*whole[0])):
        assert len(tokenizer) == 9
        assert {w for w in tokenizer.ids if w[0] != "["} < set(
            " ".join(side).replace(".", " .").split()
        )


MANY = " ".join(["one"] * 60)


@pytest.mark.parametrize(
    ("pairs", "length"),
    [
        (PAIRS, 5),
        (PAIRS + LONG, 10),  # nobody stands out
        ([*PAIRS, (MANY, "a")], 5),
        ([*PAIRS, ("sea.", MANY), (MANY, "a")], 62),  # more than a few
        ([(f"{MANY} {a}", b) for a, b in PAIRS], 65),
        ([("a", "b"), ("c", "d e")] * 10, 3),
    ],
)
def test_the_length_is_that_of_the_pairs_but_for_a_few(pairs, length):
    """[SOS] and [EOS] are beside the words of a source: *one two .* has 5."""
    parts = split_corpus([*pairs, *((x, "b") for x in "efghijklm")], NOWHERE)
    assert translator_for(parts, {})["max_len"] == length


@pytest.mark.slow
def test_more_than_a_tenth_is_left_out_only_when_that_is_typed(
    capsys, tmp_path
):
    """Half of them have three words and a mark, which are 6 tokens."""
    pairs = PAIRS + [(f"red {a}", b) for a, b in PAIRS]
    command = translate(tmp_path, "--steps=1", "--max_len=5", pairs=pairs)
    said = refusal(capsys, *command)
    assert said == (
        "tformer_lite: 64 of 128 pairs do not fit into 5 tokens, more than a "
        "tenth: --max_len 6 takes in all of them, and --drop-long goes on "
        "without them.\n"
    )
    assert not (tmp_path / "model.pt").exists()
    assert main([*command, "--drop-long"]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("Left out: 64 of 128 pairs do not fit into 5")
    *_, test = split_corpus(pairs, NOWHERE)
    out = sum(a.count(" ") == 2 for a, _ in test)
    assert out > 3
    count = f"{len(test) - out} of {len(test)} held-out sentences"
    assert f"Test: {count} ({out} left out), exact match" in said.out
    # It began so, and goes on so; but with no more.
    again = ["--resume", "--steps=2"]
    assert main(translate(tmp_path, *again, pairs=pairs)) == 0
    more = [*pairs, *((f"old {a}", b) for a, b in PAIRS)]
    said = refusal(capsys, *translate(tmp_path, *again, "--force", pairs=more))
    assert "128 of 192 pairs do not fit into 5 tokens" in said
    assert "choose another --save_path to train from the start" in said
    said = refusal(capsys, *command, "--force", "--max_len=4", "--drop-long")
    assert "192 of 192 pairs do not fit into 4 tokens, and at least" in said


@pytest.mark.slow
def test_words_that_nobody_learned_are_counted(capsys, tmp_path):
    """Without spaces a sentence is one word, and each one is new."""
    pairs = [(a.replace(" ", "")[:-1], b.replace(" ", "")) for a, b in PAIRS]
    assert main(translate(tmp_path, "--steps=1", pairs=pairs)) == 0
    said = capsys.readouterr().err
    assert re.search(r"(\d+) of \d+ words of the pairs held out are not", said)
    assert "where a language has no spaces, put one between" in said


@pytest.mark.slow
def test_few_sentences_are_translated_after_few_steps(
    capsys, tmp_path, monkeypatch
):
    """Of all rows that are looked at in the end, a quarter."""
    monkeypatch.setattr(course, "LAST_ROWS", 8)
    main(translate(tmp_path, "--steps", "1"))
    said = capsys.readouterr().out
    assert "Test: translating 2 of 9 held-out sentences ...\n" in said
    assert "Test: 2 of 9 held-out sentences, exact match" in said


@pytest.mark.full
def test_the_share_of_exact_translations_is_counted_on_the_test(
    capsys, tmp_path
):
    """Every test pair is written as it is wanted, or with what is wanted."""
    main(translate(tmp_path, "--steps", "400", "--batch_size", "52"))
    lines = capsys.readouterr().out.splitlines()
    (report,) = (line for line in lines if line.startswith("Test: 9"))
    _, valid, test = split_corpus(PAIRS, NOWHERE)
    kept = load_checkpoint(tmp_path / "model.pt")
    source, target = kept.tokenizers
    right = 0
    for english, nepali in test:
        src = source.encode([source.row(english, 5)])
        (row,) = greedy(kept.model, src, 2, 3, 5)
        right += target.decode(row) == nepali
    assert right > 0
    share = f"exact match {right / 9:.1%}"
    assert report.startswith(f"Test: 9 of 9 held-out sentences, {share}")
    assert "(BLEU and chrF: how many runs of words, and of letters" in report
    shown = [line for line in lines if " -> " in line]
    assert len(shown) == 3 * 10 + 3  # at each note, and in the end
    for line, (english, _) in zip(shown, 10 * valid[:3]):
        assert line.startswith(f"  {english} -> ")
    assert all(line.count("wanted") == 1 for line in shown[-3:])


@pytest.mark.full
def test_a_small_language_is_learned_with_no_size_typed(capsys, tmp_path):
    """Five words, of twelve, come in the opposite order, with other endings;
    nine in ten new sentences are translated, where guessing has none."""
    numbers = random.Random(0)
    words = [a + b for a in "bdfg" for b in "aio"]
    rows = [numbers.choices(words, k=5) for _ in range(600)]
    texts = [(" ".join(x), " ".join(f"{w}n" for w in x[::-1])) for x in rows]
    lines = "".join(f"{english}\t{other}\n" for english, other in texts)
    (tmp_path / "own.tsv").write_text(lines)
    path = ["--save_path", str(tmp_path / "model.pt")]
    command = ["train", "translate", str(tmp_path / "own.tsv"), *path]
    assert main([*command, "--steps", "600"]) == 0
    said = capsys.readouterr().out
    assert "rows of 7 tokens; 600 steps of 64 rows" in said
    assert float(re.search(r"exact match ([\d.]+)%", said)[1]) > 90


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 3])
def test_sentences_are_translated_in_order(width, capsys, trained):
    """The witnesses: `greedy`, and `beam`."""
    sentences = ["one two.", "sea sun."]
    assert main([*say(trained, *sentences), "--beam", str(width)]) == 0
    kept = load_checkpoint(trained)
    source, target = kept.tokenizers
    length = kept.model.config.max_len
    for line, sentence in zip(capsys.readouterr().out.splitlines(), sentences):
        src = source.encode([source.row(sentence, length)])
        row = greedy(kept.model, src, 2, 3, length)
        if width > 1:
            row = beam(kept.model, src, 2, 3, length, width)
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
    reads = load_checkpoint(trained).model.config.max_len - 2
    said = refusal(capsys, *say(trained, "one " * reads + "."))
    wanted = (
        f"has {reads + 1} words and marks, and the translator reads {reads}"
    )
    assert wanted in said
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
