"""`train char`: what it chooses, writes and refuses."""

import math
import os
import re
from dataclasses import fields

import pytest
import torch

from tests.helpers.commands import TEXT, char, refusal
from tests.helpers.learning import cut
from tformer_lite import (
    Config,
    DecoderOnly,
    Recipe,
    char_lm,
    commands,
    load_checkpoint,
    mean_loss,
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


# --- What is kept, and what is never written over -------------------------


@pytest.mark.slow
def test_ctrl_c_says_what_is_kept_and_resume_goes_on_from_it(
    capsys, tmp_path, monkeypatch
):
    def stopped(trainer, data, *others):
        train(trainer, cut(5, data), *others)

    path = tmp_path / "model.pt"
    monkeypatch.setattr(commands.lite, "train", stopped, raising=False)
    assert main(char(tmp_path, "--steps", "20")) == 130
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
    again = char(tmp_path, "--steps", "4", "--resume", "--lr", "1e-9")
    assert main(again) == 0
    assert all(map(torch.equal, begun, newest.model.parameters()))
    assert len(load_checkpoint(path).val_losses) == len(best.val_losses) + 4


def test_a_file_that_is_there_is_replaced_by_force_alone(capsys, tmp_path):
    path = tmp_path / "model.pt"
    path.write_text("mine")
    said = refusal(capsys, *char(tmp_path, "--steps", "1"), main=main)
    assert "is there already: --resume goes on from it, --force" in said
    assert path.read_text() == "mine"
    assert main(char(tmp_path, "--steps", "1", "--force")) == 0
    load_checkpoint(path)


@pytest.mark.parametrize("option", ["--force", "--resume"])
@pytest.mark.parametrize(
    ("file", "save"),
    [
        ("own.txt", "own.txt"),
        ("own.txt", "symbolic"),
        ("own.txt", "hard"),
        ("symbolic", "own.txt"),
        ("own_newest.txt", "own.txt"),
        ("own_loss_curve.png", "own.pt"),
    ],
)
def test_a_training_never_writes_over_the_file_that_it_reads(
    capsys, tmp_path, monkeypatch, file, save, option
):
    monkeypatch.chdir(tmp_path)
    text = TEXT * 9
    for name in {file, "own.txt"} - {"symbolic"}:
        (tmp_path / name).write_text(text, "utf8")
    (tmp_path / "symbolic").symlink_to("own.txt")
    os.link("own.txt", "hard")
    words = f"train char {file} --save_path {save} {option} --steps 1".split()
    said = refusal(capsys, *words, main=main)
    assert f"would write over {file}, which is read: choose another" in said
    assert (tmp_path / file).read_text("utf8") == text


# --- What is refused ------------------------------------------------------

FILES = {"text.txt": TEXT.encode(), "short.txt": b"amar", "empty.txt": b" \n"}
REFUSED = {
    "char nowhere.txt": "nowhere.txt: No such file",
    "char empty.txt": "empty.txt has no text in it",
    "char short.txt": "Give a longer text, or choose a smaller size",
    "char text.txt --block_size 8 --lr -1": "lr=-1.0: it is 0 or more",
    "char text.txt --block_size 8 --device best": "device",
    "char text.txt --block_size 8 --save_path .": ". is a folder: name",
    "char text.txt --block_size 8 --save_path text.txt/m.pt": "text.txt: File",
    "char text.txt --block_size 8 --resume": "no checkpoint tiny_tran",
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
