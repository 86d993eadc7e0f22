"""`train char`: what it chooses for a text, what source 002 does, and what is
shown on the way."""

import csv
import math
import random
import re
from dataclasses import fields
from types import SimpleNamespace

import pytest
import torch

from tests.helpers.commands import TEXT, char, refusal, translate
from tests.helpers.learning import Cut
from tformer_lite import (
    Chunks,
    Config,
    DecoderOnly,
    Recipe,
    Trainer,
    Windows,
    load_checkpoint,
    mean_loss,
    train,
)
from tformer_lite.__main__ import main
from tformer_lite.commands.arguments import read
from tformer_lite.commands.learning import course, start, writers
from tformer_lite.commands.learning.course import overfitting_text
from tformer_lite.commands.learning.start import config_of, recipe_of
from tformer_lite.commands.options import (
    AS_IN_BOOK,
    AS_IN_SOURCE,
    TRAIN_CHAR,
    TRAIN_TRANSLATE,
)
from tformer_lite.example.running import seeded_model
from tformer_lite.example.shipped import stored
from tformer_lite.model.choices import PARTS
from tformer_lite.model.config import char_lm, tiny_translator
from tformer_lite.training import trainer

LINE = (
    r"(\d+)/(\d+): train_loss=([\d.]+), val_loss=([\d.]+), "
    r"perplexity=([\d.]+)"
)


@pytest.mark.slow
def test_each_epoch_prints_its_losses_and_their_perplexity(capsys, tmp_path):
    """205 characters: 164 and 41, so 156 windows, 5 batches of 32."""
    assert main(char(tmp_path, "--epochs", "2")) == 0
    said = capsys.readouterr().out
    kept = load_checkpoint(tmp_path / "model.pt")
    lines = re.findall(rf"^Epoch {LINE}$", said, re.MULTILINE)
    assert [line[:2] for line in lines] == [("1", "2"), ("2", "2")]
    assert kept.training["step"] == 10
    for line, ours, theirs in zip(lines, kept.train_losses, kept.val_losses):
        assert line[2:4] == (f"{ours:.4f}", f"{theirs:.4f}")
        assert float(line[4]) == pytest.approx(math.exp(theirs), abs=0.01)
    words = "Using device: cpu", "205 characters, vocab size = 17"
    size = sum(p.numel() for p in kept.model.parameters())
    saved = f"Model saved to {tmp_path / 'model.pt'}"
    curve = f"Loss curve saved to {tmp_path / 'model_loss_curve.png'}"
    for text in (*words, f"Model parameters: {size:,}", saved, curve):
        assert text in said


@pytest.mark.slow
def test_losses_that_are_no_numbers_end_it_and_the_last_file_stays(
    capsys, tmp_path
):
    path = tmp_path / "model.pt"
    wrong = char(tmp_path, "--steps", "9", "--lr", "1e30")
    said = refusal(capsys, *wrong)
    assert re.search(
        "loss after step 1 is (nan|inf), at a learning rate", said
    )
    assert said.endswith("(--lr, --warmup); nothing was saved.\n")
    assert not path.exists()
    main(char(tmp_path, "--steps", "3"))
    content = path.read_bytes()
    said = refusal(capsys, *wrong, "--resume")
    assert re.search("of step 5 is|after step 4 is", said)
    assert said.endswith(f"(--lr, --warmup); {path} keeps step 3.\n")
    assert path.read_bytes() == content


@pytest.mark.slow
def test_the_sample_begins_with_what_is_known_of_its_prompt(capsys, tmp_path):
    main(char(tmp_path, "--steps", "1"))
    said = capsys.readouterr().out
    text = said[said.index("Generated: ") + 11 : -1]
    assert text.startswith("amar")
    assert len(text) == 104
    main(char(tmp_path, "--steps", "1", "--demo", "Xam", "--force"))
    assert "Prompt: Xam\nGenerated: am" in capsys.readouterr().out
    main(char(tmp_path, "--steps", "1", "--demo", "XYZ", "--force"))
    said = capsys.readouterr().out
    assert "None of its characters is in the vocabulary" in said
    assert "Generated" not in said


@pytest.mark.slow
def test_what_is_not_typed_again_stays_as_it_was(capsys, tmp_path):
    main(char(tmp_path, "--steps", "2", "--lr", "0.01", "--seed", "5"))
    main(char(tmp_path, "--steps", "3", "--resume", "--smoothing", "0.1"))
    recipe = load_checkpoint(tmp_path / "model.pt").training["recipe"]
    kept = [recipe[name] for name in ("steps", "lr", "seed", "smoothing")]
    assert kept == [3, 0.01, 5, 0.1]
    said = refusal(capsys, *char(tmp_path, "--resume", "--num_layers", "2"))
    assert "--num_layers 2, but" in said
    said = refusal(capsys, *translate(tmp_path, "--resume"))
    assert "a model for `generate`" in said


LENGTHS = [100, 2000, 20_000, 90_000, 1_000_000, 50_000_000]
# Small enough for a test; the rest is chosen.
LITTLE = ["--d_model=16", "--num_layers=1", "--block_size=8"]
KINDS = [kind for kind in PARTS if not kind.startswith(("src_", "cross_"))]


def chosen_config(words=(), length=1_000_000):
    """The config of a model that is chosen around some typed words."""
    given = read(["train", "char", "a.txt", *words]).given
    options = writers.writer_for(length, given)
    return config_of(options, Config(vocab_size=65, max_len=8))


@pytest.mark.parametrize("length", LENGTHS)
def test_a_longer_text_never_has_a_smaller_model_or_more_dropout(length):
    now, then = (chosen_config((), n) for n in (length, 2 * length))
    assert then.d_model >= now.d_model
    assert then.n_layers >= now.n_layers
    assert then.dropout <= now.dropout
    assert DecoderOnly(now)(torch.zeros(1, 8).long()).isfinite().all()


def test_what_is_typed_wins_and_the_rest_fits_to_it():
    config = chosen_config(["--d_model", "100", "--dropout", "0.4"])
    assert (config.d_model, config.n_heads, config.d_ff) == (100, 5, 400)
    assert config.dropout == 0.4
    config = chosen_config(["--num_heads", "2", "--d_ff", "9"])
    assert (config.n_heads, config.d_ff) == (2, 9)
    assert chosen_config(["--block_size", "16"]).max_len == 16


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_part_of_a_config_can_be_typed(kind):
    for name in PARTS[kind]:
        words = [f"--{kind}", name]
        assert getattr(chosen_config(words), kind) == name
        options = vars(read(["train", "translate", *words]))
        assert getattr(config_of(options, tiny_translator), kind) == name


def test_every_field_of_a_recipe_can_be_typed():
    names = {field.name for field in fields(Recipe)} - {"every"}
    assert names <= TRAIN_CHAR.keys()
    assert names <= TRAIN_TRANSLATE.keys()
    words = ["--betas", "0.8", "0.7", "--weight_decay", "0.5", "--bf16"]
    words += ["--clip", "inf"]
    options = vars(read(["train", "translate", *words]))
    wanted = {"betas": (0.8, 0.7), "weight_decay": 0.5, "bf16": True}
    wanted |= {"clip": float("inf")}
    assert recipe_of(options, Recipe(steps=1)) == Recipe(steps=1, **wanted)


def test_the_defaults_are_the_models_of_the_sources():
    assert config_of(AS_IN_BOOK, tiny_translator) == tiny_translator
    assert config_of(AS_IN_SOURCE, char_lm) == char_lm


def test_each_time_to_train_for_replaces_the_others():
    for words, kept in {
        "": ("minutes", 2.0),
        "--steps 5": ("steps", 5),
        "--epochs 5": ("epochs", 5),
        "--as-in-source": ("epochs", 50),
        "--as-in-source --minutes 5": ("minutes", 5.0),
    }.items():
        options = vars(read(["train", "char", "a.txt", *words.split()]))
        times = {
            name: options[name] for name in ("minutes", "steps", "epochs")
        }
        assert {n: x for n, x in times.items() if x} == dict([kept])


@pytest.mark.slow
def test_the_model_and_its_steps_are_said_in_a_line(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr(start, "TRIAL", 0.01)
    (tmp_path / "text.txt").write_text(TEXT, "utf8")
    command = ["train", "char", str(tmp_path / "text.txt"), *LITTLE]
    command += ["--save_path", str(tmp_path / "model.pt")]
    main([*command, "--minutes", "0.000001"])
    said = capsys.readouterr().out
    line = r"^1 layer, 1 head, 16 channels, rows of 8 characters; "
    line += r"1 step of 8 rows in about \d+ s, losses included "
    line += r"\(--steps 1 repeats it"
    assert re.search(line, said, re.MULTILINE)


def little():
    """A small model, and data to train it on."""
    sizes = {"d_model": 4, "n_heads": 1, "n_layers": 1, "d_ff": 4}
    config = Config(vocab_size=5, max_len=8, **sizes)
    trainer = Trainer(seeded_model(DecoderOnly, config, 0), Recipe(steps=1))
    return trainer, Windows(torch.arange(2000) % 5, 8)


@pytest.mark.slow
def test_timing_its_steps_does_not_change_a_training(monkeypatch):
    """With the same steps and the same seed it is the same to the last bit,
    and nobody's random numbers are used up."""
    monkeypatch.setattr(start, "TRIAL", 0.02)
    (timed, data), (other, _) = little(), little()
    given, before = {"minutes": 2e-4}, torch.get_rng_state()
    start.choose_steps(timed, given, data, 100)
    assert torch.equal(torch.get_rng_state(), before)
    start.choose_steps(other, {"steps": given["steps"]}, data, 100)
    for each in timed, other:
        train(each, data)
    both = timed.model.parameters(), other.model.parameters()
    assert all(map(torch.equal, *both))


def steps_in(minutes, step=0):
    """The steps that some minutes have, at 2 steps a second."""
    (trainer, data), given = little(), {"minutes": minutes}
    trainer.step = step
    most = writers.most_steps(trainer, data)
    start.choose_steps(trainer, given, data, most)
    assert trainer.recipe.steps == given["steps"]
    assert trainer.recipe.warmup <= given["steps"] / 10
    return given["steps"]


def test_twice_the_time_has_twice_the_steps_and_more_time_adds_some(
    monkeypatch,
):
    """Of a minute 51 seconds are for steps: there is more to do."""
    monkeypatch.setattr(start, "seconds_a_step", lambda *_: 0.5)
    assert [steps_in(n) for n in (1e-9, 0.2, 0.4)] == [1, 20, 40]
    assert [steps_in(n, step=40) for n in (0.2, 0.4)] == [60, 80]


def test_of_a_short_time_the_losses_have_what_they_need(monkeypatch):
    """12 s are 24 steps of 32 rows; eleven looks at 96 rows, each in a third
    of the time, are 11 of them."""
    monkeypatch.setattr(start, "seconds_a_step", lambda *_: 0.5)
    (trainer, data), given = little(), {"minutes": 0.2}
    minutes = start.choose_steps(trainer, given, data, 100, 96)
    assert given["steps"] == 13
    assert minutes == pytest.approx(0.2)


def test_a_short_text_is_not_gone_through_for_ever(capsys, monkeypatch):
    """Unless one goes on: 2,000 characters, in 32 rows of 8."""
    monkeypatch.setattr(start, "seconds_a_step", lambda *_: 0.01)
    passes = writers.TEXT_SIZES[0][-1]
    assert steps_in(2.0) == passes * 1992 // (32 * 8)
    assert "Few data: it ends sooner" in capsys.readouterr().out
    assert steps_in(2.0, step=7) == 7 + 10_200
    assert steps_in(0.01) == 51
    assert capsys.readouterr().out == ""


def matches(folder) -> list[int]:
    """The steps of the CSV, whose losses are those of the checkpoint."""
    kept = load_checkpoint(folder / "model.pt")
    lines = (folder / "model_losses.csv").read_text("utf8").splitlines()
    head, *rows = csv.reader(lines)
    assert head == ["step", "seconds", "train_loss", "val_loss"]
    steps, times, ours, theirs = (list(map(float, x)) for x in zip(*rows))
    assert (ours, theirs) == (kept.train_losses, kept.val_losses)
    assert times == sorted(times)
    return steps


@pytest.mark.slow
def test_a_csv_has_each_note_once_whatever_has_stopped_and_gone_on(
    tmp_path, monkeypatch
):
    main(char(tmp_path, "--steps", "30"))
    assert matches(tmp_path) == list(range(3, 31, 3))
    main(char(tmp_path, "--steps", "40", "--resume"))
    assert matches(tmp_path) == [*range(3, 40, 3), 40]

    def cut(one, data, *others):
        train(one, Cut(9, data=data), *others)

    monkeypatch.setattr(course, "train", cut)
    assert main(char(tmp_path, "--steps", "60", "--resume")) == 130
    monkeypatch.undo()
    assert load_checkpoint(tmp_path / "model.pt").training["step"] == 48
    assert main(char(tmp_path, "--steps", "60", "--resume")) == 0
    assert matches(tmp_path) == [*range(3, 40, 3), 40, *range(42, 61, 3)]
    assert not (tmp_path / "model_losses.csv.part").exists()


@pytest.mark.slow
def test_the_time_to_expect_is_said_once(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(course, "TIMED_SECONDS", -1.0)
    main(char(tmp_path, "--steps", "20"))
    said = capsys.readouterr().out
    line = r"^Expected time: about \d+ s for 18 steps, [\d,]+ tokens a second$"
    assert len(re.findall(line, said, re.MULTILINE)) == 1
    assert said.count("Expected time") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "demo"),
    [(TEXT, "amar"), (TEXT, "???"), ("漢字\n文" * 60, "漢")],
    ids=["short", "unknown", "wide"],
)
def test_beside_each_loss_the_model_writes_one_line(
    capsys, tmp_path, text, demo
):
    main(char(tmp_path, "--steps", "4", "--demo", demo, text=text))
    lines = capsys.readouterr().out.splitlines()
    notes = [i for i, line in enumerate(lines) if "train_loss" in line]
    assert len(notes) == 4
    for i in notes:
        label, shown = lines[i + 1].split(": ", 1)
        assert label == "  It writes"
        # A blank that it begins with cannot be seen.
        assert demo == "???" or shown.startswith(demo)
        wide = sum(1 + (c >= "\u4e00") for c in shown)
        assert 10 < wide <= writers.LINE_WIDTH
    assert not lines[notes[-1] + 2].startswith("  ")


@pytest.mark.slow
def test_the_last_validation_looks_at_more_than_a_note(
    capsys, tmp_path, monkeypatch
):
    """Each step of three is noted, and the last one looks at thrice as much:
    at all five rows."""
    monkeypatch.setattr(course, "rows_to_validate", lambda x: 2 * x.every)
    main(char(tmp_path, "--steps", "3"))
    said = capsys.readouterr().out
    kept = load_checkpoint(tmp_path / "model.pt")
    valid = Chunks(kept.tokenizers[0].encode(TEXT)[164:], 8)
    loss = mean_loss(kept.model, valid)
    assert "Validation: on the way on 16 of 40 tokens, always the same" in said
    line = "Last validation, on 40 of 40 tokens:\n  "
    line += f"val_loss={loss:.4f}, perplexity={math.exp(loss):.2f}\n"
    assert line in said


@pytest.mark.slow
def test_the_last_validation_has_no_more_rows_than_are_needed(
    capsys, tmp_path, monkeypatch
):
    """However long the text and the training are."""
    monkeypatch.setattr(course, "LAST_ROWS", 3)
    main(char(tmp_path, "--steps", "3"))
    said = capsys.readouterr().out
    assert "Last validation, on 24 of 40 tokens:\n  val_loss=" in said


@pytest.mark.slow
def test_what_was_stopped_before_its_first_note_goes_on(
    capsys, tmp_path, monkeypatch
):
    """Nothing was noted until then: there is no curve."""

    def cut(one, data, *others):
        train(one, Cut(9, data=data), *others)

    monkeypatch.setattr(course, "train", cut)
    assert main(char(tmp_path, "--steps", "100")) == 130
    monkeypatch.undo()
    assert load_checkpoint(tmp_path / "model.pt").training["step"] == 8
    assert main(char(tmp_path, "--steps", "5", "--resume")) == 0
    said = capsys.readouterr().out
    assert "model.pt is trained: --minutes, more --steps or" in said
    assert "Loss curve" not in said
    assert main(char(tmp_path, "--steps", "9", "--resume")) == 0
    assert "Loss curve saved to" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("most", "said"),
    [(5, "Epoch 1/2: "), (4, "Step 4/10: ")],
)
def test_a_long_epoch_has_its_first_losses_before_it_ends(
    capsys, tmp_path, monkeypatch, most, said
):
    """An epoch has 5 steps."""
    monkeypatch.setattr(course, "COURSE_STEPS", most)
    main(char(tmp_path, "--epochs", "2"))
    lines = capsys.readouterr().out.splitlines()
    first = next(line for line in lines if "train_loss" in line)
    assert first.startswith(said)
    assert load_checkpoint(tmp_path / "model.pt").training["step"] == 10


@pytest.mark.slow
def test_overfitting_is_said_at_a_note_and_in_the_end_with_its_numbers(
    capsys, tmp_path, monkeypatch
):
    theirs = [2.8, 2.5, 2.6, 2.7, 2.8, 2.9, 3.0, 3.1, 3.2, 3.3]
    losses = iter(theirs)
    monkeypatch.setattr(trainer, "mean_loss", lambda *_: next(losses))
    main(char(tmp_path, "--steps", "40", "--lr", "0.03"))
    said = capsys.readouterr()
    first, last = (
        line for line in said.err.splitlines() if "val_loss" in line
    )
    low = "The lowest val_loss was 2.50 at step 8, now it is"
    kept = load_checkpoint(tmp_path / "model.pt")
    assert kept.val_losses == theirs
    assert f"{low} 3.00, while" in first
    assert f"{low} 3.30, while" in last
    fell = f"from {kept.train_losses[1]:.2f} to {kept.train_losses[-1]:.2f}:"
    assert fell in last
    assert last.endswith(
        "by heart. --patience 3 stops in time; more data, a smaller model or "
        "more --dropout help."
    )


def test_a_time_has_the_unit_that_suits_it():
    said = {0.2: "0 s", 89: "89 s", 90: "2 min", 5399: "90 min"}
    said |= {5400: "1.5 h", 360000: "100.0 h"}
    assert {n: course.duration_text(n) for n in said} == said


def warned(ours, theirs, patience=None) -> list[str]:
    """What is said at each note of a training with these losses."""
    found = []
    for n in range(1, len(theirs) + 1):
        one = SimpleNamespace(
            train_losses=ours[:n],
            val_losses=theirs[:n],
            noted=[(100 * (i + 1), 0.0) for i in range(n)],
            recipe=SimpleNamespace(patience=patience),
        )
        found.append(overfitting_text(one))
    return found


OURS = [3.1, 2.3, 2.0, 1.8, 1.6, 1.4, 1.2, 1.0, 0.8, 0.6]
THEIRS = [3.0, 2.3, 2.1, 2.01, 2.05, 2.1, 2.2, 2.35, 2.5, 2.63]


def test_patience_helps_unless_there_is_some():
    lasts = [warned(OURS, THEIRS, patience)[-1] for patience in (None, 7)]
    assert ["--patience 3" in last for last in lasts] == [True, False]
    assert "2.01 at step 400, now it is 2.63, while train_loss" in lasts[0]
    assert "fell from 1.80 to 0.60: the model" in lasts[0]
    # Where both losses rise, or none falls, nothing is learned by heart.
    assert not any(warned(THEIRS, THEIRS) + warned([2.0] * 10, THEIRS))


@pytest.mark.parametrize("seed", "12345")
def test_the_books_own_run_that_learns_by_heart_is_found(seed):
    run = stored("overfitting")["seeds"][seed]
    found = warned(run["train_losses"], run["val_losses"])
    best = run["val_losses"].index(min(run["val_losses"]))
    assert not any(found[: best + 4])
    assert found[-1]


@pytest.mark.parametrize("notes", [10, 50])
def test_noise_is_no_rise(notes):
    numbers = random.Random(0)
    for _ in range(20):
        curve = [1.7 + 1.5 * math.exp(-i / 8) for i in range(notes)]
        theirs = [loss * (1 + numbers.gauss(0, 0.05)) for loss in curve]
        ours = [loss - i / notes for i, loss in enumerate(curve)]
        assert not any(warned(ours, theirs))
