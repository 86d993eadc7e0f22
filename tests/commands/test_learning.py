"""`train char` and `train translate`: what they choose, write and refuse."""

import math
import os
import random
import re
from dataclasses import fields

import pytest
import torch

from tests.helpers.commands import PAIRS, TEXT, char, refusal, translate
from tests.helpers.learning import cut
from tformer_lite import (
    Config,
    DecoderOnly,
    Recipe,
    char_lm,
    commands,
    greedy,
    load_checkpoint,
    mean_loss,
    split_pairs,
    train,
)
from tformer_lite.__main__ import main
from tformer_lite.text.datasets import Chunks
from tformer_lite.training.checkpoints import newest_path
from tformer_lite.training.options import (
    AS_IN_SOURCE,
    recipe_for,
    with_options,
    writer_for,
)

LONG = [("one two red old new big sun.", "a ।"), ("sea.", "a b c d e f g h")]


@pytest.mark.slow
def test_a_training_as_in_the_source_writes_and_says_what_that_does(
    capsys, tmp_path
):
    """Source 002: the checkpoint, the curve, both losses of each epoch, and a
    text that goes on with its prompt; perplexity = exp(cross-entropy)."""
    assert main(char(tmp_path, "--as-in-source", "--epochs", "3")) == 0
    said = capsys.readouterr().out
    assert "Using device: " in said
    assert "Loaded corpus with 205 characters, vocab size = 17\n" in said
    kept = load_checkpoint(newest_path(tmp_path / "model.pt"))
    count = sum(p.numel() for p in kept.model.parameters())
    assert f"Model parameters: {count:,}\n" in said
    assert f"Model saved to {tmp_path / 'model.pt'}, " in said
    assert "Prompt: amar\nGenerated: amar" in said
    assert len(said.partition("Generated: ")[2]) == 4 + 100 + 1
    line = r"train_loss=([\d.]+), val_loss=([\d.]+), perplexity=([\d.]+)"
    notes = [[*map(float, row)] for row in re.findall(line, said)]
    assert [row[:2] for row in notes] == [
        [pytest.approx(loss, abs=1e-4) for loss in row]
        for row in zip(kept.train_losses, kept.val_losses)
    ]
    assert len(notes) == 3
    for _, loss, perplexity in notes:
        assert perplexity == pytest.approx(math.exp(loss), rel=0.01)
    valid = Chunks(kept.tokenizers[0].encode(TEXT)[164:], 8)
    assert mean_loss(kept.model, valid) == pytest.approx(kept.val_losses[-1])
    picture = tmp_path / "model_loss_curve.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"Loss curve saved to {picture}\n" in said


def test_source_002s_model_and_recipe_are_its_own():
    config = with_options(char_lm, AS_IN_SOURCE)
    assert config == char_lm
    recipe = recipe_for(AS_IN_SOURCE, 1000, 1)
    assert (recipe.steps, recipe.every) == (50 * 32, 32)  # 32 batches of 32
    theirs = {"lr": 3e-4, "batch_size": 32, "betas": (0.9, 0.999)}
    theirs |= {"weight_decay": 0.0, "clip": math.inf, "warmup": 0}
    assert {name: getattr(recipe, name) for name in theirs} == theirs
    assert {recipe.rate(step) for step in (1, 9, 1600)} == {3e-4}


LENGTHS = [100, 2000, 20_000, 90_000, 1_000_000, 50_000_000]


def writer(length: int, **typed) -> Config:
    """The config of a model that is chosen around some typed options."""
    return with_options(
        Config(vocab_size=65, max_len=8), writer_for(length, typed)
    )


@pytest.mark.parametrize("length", LENGTHS)
def test_a_longer_text_never_has_a_smaller_model_or_more_dropout(length):
    now, then = writer(length), writer(2 * length)
    assert then.d_model >= now.d_model
    assert then.n_layers >= now.n_layers
    assert then.dropout <= now.dropout
    assert DecoderOnly(now)(torch.zeros(1, 8).long()).isfinite().all()


def test_what_is_typed_wins_and_the_rest_fits_to_it():
    config = writer(10**6, d_model=64, dropout=0.4)
    assert (config.d_model, config.n_heads, config.d_ff) == (64, 2, 256)
    assert config.dropout == 0.4
    assert writer(10**6, block_size=16).max_len == 16
    names = {field.name for field in fields(Recipe)}
    assert names >= writer_for(9, {}).keys() & {"lr", "patience", "batch_size"}


@pytest.mark.parametrize(
    ("options", "steps", "every"),
    [
        ({}, 126, 13),  # 1,000 rows, and a batch of what is left
        ({"steps": 7}, 7, 1),
        ({"epochs": 2}, 10, 5),
        ({"epochs": 2, "steps": 7}, 7, 5),
    ],
)
def test_steps_are_those_typed_or_so_many_epochs_or_rows(
    options, steps, every
):
    recipe = recipe_for({"batch_size": 8} | options, 40, 1000)
    assert (recipe.steps, recipe.every) == (steps, every)
    assert recipe.warmup == steps // 10
    assert recipe_for({"batch_size": 8}, 40, 10**9).steps == 3000


# --- Pairs ----------------------------------------------------------------


def test_pairs_are_parted_and_those_that_do_not_fit_left_out(capsys, tmp_path):
    """300 pairs that fit, some twice, and two of all that are too long."""
    numbers = random.Random(0)
    words = [a + b for a in "bdfg" for b in "aio"]
    rows = [" ".join(numbers.choices(words, k=3)) for _ in range(300)]
    pairs = [(row, row.upper()) for row in dict.fromkeys(rows)]
    some = pairs + LONG + pairs
    assert main(translate(tmp_path, "--steps=1", pairs=some)) == 0
    said = capsys.readouterr()
    long = "2 pairs are left out: longer than 5 tokens"
    assert said.err == f"tformer_lite: {long}\n"
    parts = split_pairs(pairs)
    counts = "{} for training, {} for validation, {} for test\n"
    assert f"Loaded pairs: {counts.format(*map(len, parts))}" in said.out
    kept = load_checkpoint(tmp_path / "model.pt")
    assert kept.block_size == kept.model.config.max_len == 5
    for tokenizer, side in zip(kept.tokenizers, zip(*pairs)):
        assert {w for w in tokenizer.ids if w[0] != "["} >= {
            *" ".join(side).split()
        }


@pytest.mark.slow
def test_the_share_of_exact_translations_is_counted_on_the_test(
    capsys, tmp_path
):
    """Every pair of the test is written as it is wanted, or beside it."""
    main(translate(tmp_path, "--steps", "300", "--batch_size", "52"))
    lines = capsys.readouterr().out.splitlines()
    *_, test = split_pairs(PAIRS)
    kept = load_checkpoint(tmp_path / "model.pt")
    source, target = kept.tokenizers
    right = 0
    for english, nepali in test:
        src = source.encode([source.row(english, 5)])
        (row,) = greedy(kept.model, src, 2, 3, 5)
        right += target.decode(row) == nepali
    assert right > 0
    share = f"exact match {right / len(test):.1%}"
    assert f"Test: {len(test)} sentences, {share}" in lines
    shown = [line for line in lines if " -> " in line]
    for line, (english, nepali) in zip(shown, test, strict=False):
        assert line.startswith(f"  {english} -> ")
        assert line.endswith(f" (wanted: {nepali.replace('.', ' .')})")
    assert len(shown) == 3


@pytest.mark.full
def test_a_small_language_is_learned_with_nothing_typed(capsys, tmp_path):
    """Five words, of twelve, come in the opposite order, with other endings;
    nine in ten new sentences are translated, where guessing has none."""
    numbers = random.Random(0)
    words = [a + b for a in "bdfg" for b in "aio"]
    rows = [numbers.choices(words, k=5) for _ in range(600)]
    texts = [(" ".join(x), " ".join(f"{w}n" for w in x[::-1])) for x in rows]
    lines = "".join(f"{english}\t{other}\n" for english, other in texts)
    (tmp_path / "own.tsv").write_text(lines)
    path = ["--save_path", str(tmp_path / "model.pt")]
    assert main(["train", "translate", str(tmp_path / "own.tsv"), *path]) == 0
    said = capsys.readouterr().out
    assert float(re.search(r"exact match ([\d.]+)%", said)[1]) > 90


# --- What is kept, and what is never written over -------------------------


@pytest.mark.slow
@pytest.mark.parametrize("command", [char, translate])
def test_ctrl_c_says_what_is_kept_and_resume_goes_on_from_it(
    capsys, tmp_path, monkeypatch, command
):
    def stopped(trainer, data, *others):
        train(trainer, cut(5, data), *others)

    path = tmp_path / "model.pt"
    monkeypatch.setattr(commands.lite, "train", stopped, raising=False)
    assert main(command(tmp_path, "--steps", "20")) == 130
    monkeypatch.undo()
    said = capsys.readouterr().err
    kept = f"{path} has the best weights, --resume goes on"
    assert said == f"tformer_lite: stopped at step 4 of 20; {kept}\n"
    newest, best = (load_checkpoint(x) for x in (newest_path(path), path))
    assert min(best.val_losses) == best.val_losses[-1]
    begun = []

    def seen(trainer, *others):
        begun.extend(x.clone() for x in trainer.model.parameters())
        assert trainer.val_losses == best.val_losses
        train(trainer, *others)

    monkeypatch.setattr(commands.lite, "train", seen, raising=False)
    again = command(tmp_path, "--steps", "4", "--resume", "--lr", "1e-9")
    assert main(again) == 0
    assert all(map(torch.equal, begun, newest.model.parameters()))
    assert len(load_checkpoint(path).val_losses) == len(best.val_losses) + 4


@pytest.mark.parametrize("command", [char, translate])
def test_a_file_that_is_there_is_replaced_by_force_alone(
    capsys, tmp_path, command
):
    path = tmp_path / "model.pt"
    path.write_text("mine")
    said = refusal(capsys, *command(tmp_path, "--steps", "1"), main=main)
    assert "is there already: --resume goes on from it, --force" in said
    assert path.read_text() == "mine"
    assert main(command(tmp_path, "--steps", "1", "--force")) == 0
    load_checkpoint(path)


@pytest.mark.parametrize("option", ["--force", "--resume"])
@pytest.mark.parametrize(
    ("file", "save"),
    [
        ("own.tsv", "own.tsv"),
        ("own.tsv", "../{here}/own.tsv"),
        ("own.tsv", "symbolic"),
        ("own.tsv", "hard"),
        ("symbolic", "own.tsv"),
        ("own_newest.tsv", "own.tsv"),
        ("own_loss_curve.png", "own.pt"),
    ],
)
@pytest.mark.parametrize("kind", ["char", "translate"])
def test_a_training_never_writes_over_the_file_that_it_reads(
    capsys, tmp_path, monkeypatch, kind, file, save, option
):
    monkeypatch.chdir(tmp_path)
    text = "".join(f"{a}\t{b}\n" for a, b in PAIRS)
    for name in {file, "own.tsv"} - {"symbolic"}:
        (tmp_path / name).write_text(text, "utf8")
    (tmp_path / "symbolic").symlink_to("own.tsv")
    os.link("own.tsv", "hard")
    words = ["train", kind, file, "--save_path", save, option, "--steps", "1"]
    words[4] = save.format(here=tmp_path.name)
    said = refusal(capsys, *words, main=main)
    assert f"would write over {file}, which is read: choose another" in said
    assert (tmp_path / file).read_text("utf8") == text


# --- What is refused ------------------------------------------------------

FILES = {
    "text.txt": TEXT.encode(),
    "short.txt": b"amar",
    "empty.txt": b" \n",
    "bad.txt": b"one\ntwo\xff\n",
    "no_tab.tsv": b"one\ttwo\nthree\n",
    "few.tsv": b"a\tb\nc\td\n",
    "numbers.tsv": b"".join(b"%d\ta %d\t\n" % (i, i) for i in range(40)),
    "same.tsv": b"".join(b"a %d\tCC BY\n" % i for i in range(40)),
}
REFUSED = {
    "char nowhere.txt": "nowhere.txt: No such file",
    "char .": ".: Is a directory",
    "char bad.txt": "bad.txt is no text in UTF-8",
    "char empty.txt": "empty.txt has no text in it",
    "char short.txt": "Bring a longer text, or choose a smaller size",
    "char text.txt --block_size 8 --as-in-source --max_seq_len 4": (
        "--block_size 8 is more than --max_seq_len 4"
    ),
    "char text.txt --block_size 8 --d_model 15 --num_heads 4": (
        "d_model=15 is not divisible by n_heads=4"
    ),
    "char text.txt --block_size 8 --lr -1": "lr=-1.0: it is 0 or more",
    "char text.txt --block_size 8 --steps -3": "steps=-3: every count is 1",
    "char text.txt --block_size 8 --device best": "device",
    "char text.txt --block_size 8 --device cuda": "CUDA",
    "char text.txt --block_size 8 --save_path .": ". is a folder: name",
    "char text.txt --block_size 8 --save_path . --force": ". is a folder",
    "char text.txt --block_size 8 --save_path text.txt/m.pt": "text.txt: File",
    "char text.txt --block_size 8 --resume": "no checkpoint tiny_tran",
    "translate no_tab.tsv": "no_tab.tsv, line 2: 'three' is no pair: write",
    "translate few.tsv": "2 different source sentences cannot be split",
    "translate numbers.tsv": "the first column of numbers.tsv is all numbers",
    "translate same.tsv": "second column of same.tsv is all numbers, or all t",
}


@pytest.mark.slow
@pytest.mark.parametrize(("words", "answer"), REFUSED.items(), ids=REFUSED)
def test_a_mistake_is_answered_in_one_line_and_nothing_is_written(
    words, answer, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    assert answer in refusal(capsys, "train", *words.split(), main=main)
    assert {x.name for x in tmp_path.iterdir()} == {*FILES}


def test_a_checkpoint_of_the_other_kind_is_not_gone_on_from(capsys, tmp_path):
    assert main(char(tmp_path, "--steps", "1")) == 0
    again = translate(tmp_path, "--steps", "1", "--resume")
    said = refusal(capsys, *again, main=main)
    assert "is no checkpoint of `train translate`, and one is" in said
