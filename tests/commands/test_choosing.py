"""What `train char` chooses for a text, and what can be chosen instead."""

import re
from dataclasses import fields

import pytest
import torch

from tests.helpers.commands import TEXT, refusal
from tformer_lite import Config, DecoderOnly, Recipe, load_checkpoint
from tformer_lite.__main__ import main
from tformer_lite.commands.arguments import read
from tformer_lite.commands.learning import choosing
from tformer_lite.commands.learning.start import config_of, recipe_of
from tformer_lite.commands.options import AS_IN_SOURCE, CHAR, TRANSLATE
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
    options = choosing.writer_for(length, given)
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
        n = choosing.heads_for(width)
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
    words = ["--attention", attention]
    known = chosen_config(words).positions
    assert (known == "none") == attention.startswith("rotary")
    if positions not in (None, "none"):
        config = chosen_config(["--positions", positions])
        assert config.positions == positions
        assert not config.attention.startswith("rotary")


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_of_a_config_can_be_typed(kind):
    for name in PARTS[kind]:
        words = [f"--{kind}", name]
        assert getattr(chosen_config(words), kind) == name
        options = vars(read(["train", "translate", *words]))
        assert getattr(config_of(options, tiny_translator), kind) == name


def test_every_field_of_a_recipe_can_be_typed():
    names = {field.name for field in fields(Recipe)} - {"every"}
    assert names <= CHAR.keys()
    assert names <= TRANSLATE.keys()
    words = ["--betas", "0.8", "0.7", "--weight_decay", "0.5", "--bf16"]
    words += ["--clip", "inf"]
    options = vars(read(["train", "translate", *words]))
    wanted = {"betas": (0.8, 0.7), "weight_decay": 0.5, "bf16": True}
    wanted |= {"clip": float("inf"), "lr": 0.03, "warmup": 100}
    assert recipe_of(options, Recipe(steps=1)) == Recipe(steps=1700, **wanted)


def test_the_defaults_are_the_models_of_the_sources():
    assert config_of(TRANSLATE, tiny_translator) == tiny_translator
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


def test_the_steps_that_time_allows_are_printed_and_give_the_same_again(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr(choosing, "TRIAL", 0.05)
    main(plain(tmp_path, *LITTLE, "--minutes", "0.004", "--seed", "3"))
    said = capsys.readouterr().out
    line = r"^1 layers, 1 heads, 16 channels, rows of 8 characters; "
    line += r"(\d+) steps of \d+ rows, in about \d+ seconds "
    line += r"\(--steps (\d+) gives the same again\)$"
    ((steps, again),) = re.findall(line, said, re.MULTILINE)
    assert steps == again
    first = load_checkpoint(tmp_path / "model.pt")
    assert first.training["step"] == int(steps)
    main(plain(tmp_path, *LITTLE, "--steps", steps, "--seed", "3"))
    second = load_checkpoint(tmp_path / "model.pt")
    assert first.train_losses == second.train_losses
    both = first.model.parameters(), second.model.parameters()
    assert all(map(torch.equal, *both))


def test_twice_the_time_has_twice_the_steps(tmp_path, monkeypatch):
    """And a trial of another model's steps has no part in it."""
    monkeypatch.setattr(choosing, "seconds_a_step", lambda *_: 0.5)
    found = []
    for minutes in "0.2", "0.4":
        main(plain(tmp_path, *LITTLE, "--minutes", minutes))
        found.append(load_checkpoint(tmp_path / "model.pt").training["step"])
    assert found == [20, 40]  # of 24 and 48: there is more to do than steps
    main(plain(tmp_path, *LITTLE, "--minutes", "0.1", "--resume"))
    step = load_checkpoint(tmp_path / "model.pt").training["step"]
    assert step == 50


def test_a_short_text_is_not_gone_through_for_ever(tmp_path, monkeypatch):
    """185 characters to train on: no time makes more than a few hundred."""
    monkeypatch.setattr(choosing, "seconds_a_step", lambda *_: 1e-9)
    main(plain(tmp_path, *LITTLE))
    kept = load_checkpoint(tmp_path / "model.pt")
    rows = kept.training["recipe"]["batch_size"]
    passes = kept.training["recipe"]["steps"] * rows * 8 / 185
    assert passes < 2 * choosing.SIZES[0][-1]


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
    wanted = ["options:", "--minutes X", "--resume", "--save_path"]
    wanted += ["the model:", "--d_model", "how it learns:", "--lr", "examples"]
    places = [said.index(word) for word in wanted]
    assert places == sorted(places)


def test_to_go_on_as_in_the_source_changes_nothing(tmp_path):
    words = [*LITTLE, "--as-in-source", "--lr", "0.01"]
    main(plain(tmp_path, *words, "--steps", "2"))
    main(plain(tmp_path, "--as-in-source", "--resume", "--steps", "3"))
    recipe = load_checkpoint(tmp_path / "model.pt").training["recipe"]
    assert (recipe["lr"], recipe["steps"]) == (0.01, 3)
