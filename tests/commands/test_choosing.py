"""What `train char` chooses for a text, and what can be chosen instead."""

import re
from dataclasses import fields

import pytest
import torch

from tests.helpers.commands import TEXT, refusal
from tformer_lite import (
    Config,
    DecoderOnly,
    Recipe,
    Trainer,
    Windows,
    load_checkpoint,
    train,
)
from tformer_lite.__main__ import main
from tformer_lite.commands.arguments import read
from tformer_lite.commands.learning import writers
from tformer_lite.commands.learning.start import config_of, recipe_of
from tformer_lite.commands.options import (
    AS_IN_SOURCE,
    TRAIN_CHAR,
    TRAIN_TRANSLATE,
)
from tformer_lite.example.running import seeded_model
from tformer_lite.model.choices import PARTS
from tformer_lite.model.config import char_lm, tiny_translator

LENGTHS = [100, 2000, 20_000, 90_000, 1_000_000, 50_000_000]
# Small enough for a test; the rest is chosen.
LITTLE = ["--d_model=16", "--num_layers=1", "--block_size=8"]
KINDS = [kind for kind in PARTS if not kind.startswith(("src_", "cross_"))]


def plain(folder, *options):
    """The words of a command that trains as the text asks for."""
    (folder / "text.txt").write_text(TEXT, "utf8")
    path = ["--save_path", str(folder / "model.pt")]
    return ["train", "char", str(folder / "text.txt"), *path, *options]


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


def test_heads_are_equal_and_even_and_near_32_channels():
    for width in range(1, 400):
        n = writers.heads_for(width)
        assert width % n == 0
        assert (width // n) % 2 == width % 2
        if width % 32 == 0:
            assert width // n == 32


def test_what_is_typed_wins_and_the_rest_fits_to_it():
    config = chosen_config(["--d_model", "100", "--dropout", "0.4"])
    assert (config.d_model, config.n_heads, config.d_ff) == (100, 5, 400)
    assert config.dropout == 0.4
    config = chosen_config(["--num_heads", "2", "--d_ff", "9"])
    assert (config.n_heads, config.d_ff) == (2, 9)
    assert chosen_config(["--block_size", "16"]).max_len == 16


@pytest.mark.parametrize("attention", PARTS["attention"])
@pytest.mark.parametrize("positions", [None, *PARTS["positions"]])
def test_positions_are_known_in_one_way(attention, positions):
    """Unless you say otherwise: by a table, or by rotation."""
    config = chosen_config(["--attention", attention])
    assert (config.attention, config.positions) == (attention, "rotary")
    if positions is not None:
        config = chosen_config(["--positions", positions])
        assert config.positions == positions


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
    others = {name: TRAIN_TRANSLATE[name] for name in names - wanted.keys()}
    found = recipe_of(options, Recipe(steps=1))
    assert found == Recipe(**others, **wanted)


def test_the_defaults_are_the_models_of_the_sources():
    assert config_of(TRAIN_TRANSLATE, tiny_translator) == tiny_translator
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
    monkeypatch.setattr(writers, "TRIAL", 0.01)
    main(plain(tmp_path, *LITTLE, "--minutes", "0.000001"))
    said = capsys.readouterr().out
    line = r"^1 layer, 1 head, 16 channels, rows of 8 characters; "
    line += r"1 step of 8 rows in about \d+ s \(--steps 1 gives the same again"
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
    monkeypatch.setattr(writers, "TRIAL", 0.02)
    (timed, data), (other, _) = little(), little()
    given, before = {"minutes": 2e-4}, torch.get_rng_state()
    writers.choose_steps(timed, given, data)
    assert torch.equal(torch.get_rng_state(), before)
    writers.choose_steps(other, {"steps": given["steps"]}, data)
    for trainer in timed, other:
        train(trainer, data)
    both = timed.model.parameters(), other.model.parameters()
    assert all(map(torch.equal, *both))


def steps_in(minutes, step=0):
    """The steps that some minutes have, at 2 steps a second."""
    (trainer, data), given = little(), {"minutes": minutes}
    trainer.step = step
    writers.choose_steps(trainer, given, data)
    assert trainer.recipe.steps == given["steps"]
    assert trainer.recipe.warmup <= given["steps"] / 10
    return given["steps"]


def test_twice_the_time_has_twice_the_steps_and_more_time_adds_some(
    monkeypatch,
):
    """Of a minute 51 seconds are for steps: there is more to do."""
    monkeypatch.setattr(writers, "seconds_a_step", lambda *_: 0.5)
    assert [steps_in(n) for n in (1e-9, 0.2, 0.4)] == [1, 20, 40]
    assert [steps_in(n, step=40) for n in (0.2, 0.4)] == [60, 80]


def test_a_short_text_is_not_gone_through_for_ever(capsys, monkeypatch):
    """Unless one goes on: 2,000 characters, in 32 rows of 8."""
    monkeypatch.setattr(writers, "seconds_a_step", lambda *_: 0.01)
    passes = writers.TEXT_SIZES[0][-1]
    assert steps_in(2.0) == passes * 1992 // (32 * 8)
    assert "The text is short" in capsys.readouterr().out
    assert steps_in(2.0, step=7) == 7 + 10_200
    assert steps_in(0.01) == 51
    assert capsys.readouterr().out == ""


def test_what_cannot_be_is_said_in_options(capsys, tmp_path):
    def answer(*words):
        return refusal(capsys, *plain(tmp_path, *LITTLE, *words))

    said = answer("--num_heads", "3")
    assert "--d_model=16 is not divisible by --num_heads=3" in said
    said = answer("--num_heads", "16")
    assert "--num_heads that makes --d_model / --num_heads even" in said
    assert "below 1" in answer("--betas", "0.9", "1")
    assert "-1 is less than 0" in answer("--weight_decay", "-1")
    assert "'rms'" in answer("--norm", "best")
    assert "0 is not above 0" in answer("--minutes", "0")
    said = answer("--minutes", "1", "--steps", "1")
    assert "--steps: not allowed with argument --minutes" in said


def test_help_has_what_is_typed_most_first_and_the_model_apart(capsys):
    with pytest.raises(SystemExit):
        main(["train", "char", "--help"])
    said = capsys.readouterr().out
    assert "with --resume, about how much longer" in " ".join(said.split())
    wanted = ["options:", "--minutes X", "\n  --resume", "\n  --save_path"]
    wanted += ["the model:", "--d_model", "how it learns:", "--lr", "examples"]
    places = [said.index(word) for word in wanted]
    assert places == sorted(places)


@pytest.mark.slow
def test_to_go_on_as_in_the_source_changes_nothing(tmp_path):
    words = [*LITTLE, "--as-in-source", "--lr", "0.01"]
    main(plain(tmp_path, *words, "--steps", "2"))
    main(plain(tmp_path, "--as-in-source", "--resume", "--steps", "3"))
    recipe = load_checkpoint(tmp_path / "model.pt").training["recipe"]
    assert (recipe["lr"], recipe["steps"]) == (0.01, 3)
