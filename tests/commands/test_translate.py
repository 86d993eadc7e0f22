"""`train translate` and `translate`: pairs, and sentences in other words."""

import io
import sys

import pytest
import torch

from tests.helpers.commands import PAIRS, char, refusal, translate
from tformer_lite import (
    beam,
    english_nepali,
    greedy,
    load_checkpoint,
    stored,
)
from tformer_lite.__main__ import main
from tformer_lite.commands.arguments import read
from tformer_lite.commands.learning.translators import book_corpus, own_corpus
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


@pytest.mark.slow
@pytest.mark.parametrize("decay", [0.2, 0.0])
def test_weight_decay_reaches_the_optimizer_and_changes_when_going_on(
    decay, tmp_path
):
    later = "--steps", "2", "--resume", "--weight_decay", str(decay)
    for words, wanted in (("--steps", "1"), 0.1), (later, decay):
        main(translate(tmp_path, *words))
        training = load_checkpoint(tmp_path / "model.pt").training
        (group,) = training["optimizer_state_dict"]["param_groups"]
        assert group["weight_decay"] == wanted


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
def test_going_on_keeps_the_vocabulary_and_the_parts(capsys, tmp_path):
    main(translate(tmp_path, "--steps", "4", "--schedule", "constant"))
    whole = load_checkpoint(tmp_path / "model.pt")
    short = "--steps", "2", "--schedule", "constant", "--force"
    main(translate(tmp_path, *short))
    main(translate(tmp_path, "--steps", "4", "--resume"))
    parts = load_checkpoint(tmp_path / "model.pt")
    assert parts.val_losses == whole.val_losses
    assert [one.ids for one in parts.tokenizers] == [
        one.ids for one in whole.tokenizers
    ]
    said = refusal(capsys, *translate(tmp_path, "--resume", "--max_len", "9"))
    assert "--max_len 9, but" in said


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


def test_a_translation_has_as_many_tokens_as_it_may(capsys, trained):
    main([*say(trained, "one two."), "--max_len", "2"])
    assert len(capsys.readouterr().out.split()) <= 1
    said = refusal(capsys, *say(trained, "one two."), "--max_len", "9")
    assert "--max_len 9" in said


def test_lines_of_stdin_are_translated_when_no_sentence_is_given(
    capsys, trained, monkeypatch
):
    main(say(trained, "one two.", "sea sun."))
    wanted = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.StringIO("one two.\nsea sun.\n"))
    assert main(say(trained)) == 0
    assert capsys.readouterr().out == wanted
    stdin = io.StringIO("one two.")
    stdin.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", stdin)
    assert "there is nothing to translate" in refusal(capsys, *say(trained))


def test_words_outside_the_vocabulary_are_named(capsys, trained):
    assert main(say(trained, "one moon, moon hen.")) == 0
    said = capsys.readouterr()
    note = "Not in the vocabulary, and read as [UNK]: 'moon', ',', 'hen': "
    note += "this translation may be wrong.\n"
    assert said.err == note


def test_without_a_checkpoint_the_shipped_translator_translates(capsys):
    """The witness: a pair of the corpus."""
    pair = ("this is not my book.", "यो मेरो किताब होइन ।")
    assert pair in english_nepali("train")
    assert main(["translate", pair[0]]) == 0
    assert capsys.readouterr() == (f"{pair[1]}\n", "")


@pytest.mark.slow
def test_what_it_cannot_translate_is_refused(capsys, trained, tmp_path):
    said = refusal(capsys, *say(trained, "one two red old new big."))
    assert "has 7 words and marks, and the translator reads 6" in said
    main(char(tmp_path, "--steps", "1"))
    said = refusal(capsys, *say(tmp_path / "model.pt", "one."))
    assert "a model for `generate`, and here one for `translate`" in said
    said = refusal(capsys, "generate", "one", "--ckpt", trained)
    assert "a model for `translate`, and here one for `generate`" in said


def test_a_damaged_checkpoint_is_one_line(capsys, tmp_path, trained):
    """Cut short, empty, no checkpoint at all, and without a vocabulary."""
    content = trained.read_bytes()
    bad = tmp_path / "bad.pt"
    for one in content[: len(content) // 2], b"", b"no checkpoint":
        bad.write_bytes(one)
        assert "bad.pt is damaged" in refusal(capsys, *say(bad, "one."))
    packed = torch.load(trained, weights_only=True)
    torch.save(packed | {"tokenizers": []}, bad)
    assert "without its vocabulary" in refusal(capsys, *say(bad, "one."))
