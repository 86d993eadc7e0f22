"""`train char`: what source 002 does, and going on from a checkpoint."""

import math
import re

import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from tests.helpers.commands import TEXT, char, refusal, translate
from tformer_lite import (
    Chunks,
    DecoderOnly,
    Recipe,
    load_checkpoint,
    mean_loss,
    split_text,
)
from tformer_lite.__main__ import main
from tformer_lite.example.running import seeded_model
from tformer_lite.training.batches import batches

NUMBER = r"(\d+\.\d+)"
LINE = (
    rf"(\d+)/(\d+): train_loss={NUMBER}, val_loss={NUMBER}, "
    rf"perplexity={NUMBER}"
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a model of two epochs."""
    folder = tmp_path_factory.mktemp("trained")
    assert main(char(folder, "--epochs", "2")) == 0
    return folder


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
def test_the_losses_are_those_of_source_002s_adam(tmp_path):
    """The witness: torch's Adam at a constant rate, in a loop of our own."""
    main(char(tmp_path, "--steps", "6", "--dropout", "0", "--lr", "0.03"))
    kept = load_checkpoint(tmp_path / "model.pt")
    data, _ = split_text(kept.tokenizers[0].encode(TEXT), 8)
    model = seeded_model(DecoderOnly, kept.model.config, 0)
    adam = torch.optim.Adam(model.parameters(), lr=0.03)
    wanted = []
    for _, ((x,), y) in zip(range(6), batches(data, Recipe(steps=6))):
        loss = torch.nn.functional.cross_entropy(model(x).mT, y)
        adam.zero_grad()
        loss.backward()
        adam.step()
        wanted.append(loss.item())
    assert kept.train_losses == pytest.approx(wanted, abs=1e-5)


@pytest.mark.slow
def test_the_checkpoint_has_source_002s_keys(trained):
    packed = torch.load(trained / "model.pt", weights_only=True)
    assert packed.keys() >= {
        "model_state_dict", "vocab_size", "stoi", "itos", "config",
        "train_losses", "val_losses",
    }  # fmt: skip
    assert packed["config"] == {
        "d_model": 16, "num_heads": 2, "num_layers": 1, "d_ff": 16,
        "max_seq_len": 8, "dropout": 0.1, "block_size": 8,
    }  # fmt: skip


@pytest.mark.slow
def test_the_loss_curve_shows_both_losses(tmp_path, monkeypatch):
    drawn = []
    save = Figure.savefig

    def keep(figure, *args, **options):
        drawn.append(figure)
        save(figure, *args, **options)

    monkeypatch.setattr(Figure, "savefig", keep)
    main(char(tmp_path, "--epochs", "3"))
    kept = load_checkpoint(tmp_path / "model.pt")
    (axes,) = drawn[0].axes
    for line, row in zip(axes.lines, (kept.train_losses, kept.val_losses)):
        assert list(line.get_xdata()) == [1, 2, 3]
        assert list(line.get_ydata()) == row
    written = {text.get_text() for text in axes.findobj(Text)}
    names = {"Training", "Validation"}  # at the lines' ends
    assert {*names, "Epoch", "nats a token"} <= written
    assert "Training and validation loss" in axes.get_title("left")
    with Image.open(tmp_path / "model_loss_curve.png") as picture:
        assert picture.format == "PNG"
        assert picture.info["dpi"] == pytest.approx((150, 150), abs=0.1)


@pytest.mark.slow
def test_losses_that_are_no_numbers_end_it_and_the_last_file_stays(
    capsys, tmp_path
):
    path = tmp_path / "model.pt"
    wrong = char(tmp_path, "--steps", "9", "--lr", "1e30")
    said = refusal_after_warnings(capsys, wrong)
    assert re.search(
        "loss after step 1 is (nan|inf), at a learning rate", said
    )
    assert said.endswith("(--lr, --warmup); nothing was saved.\n")
    assert not path.exists()
    main(char(tmp_path, "--steps", "3"))
    content = path.read_bytes()
    said = refusal_after_warnings(capsys, [*wrong, "--resume"])
    assert re.search("of step 5 is|after step 4 is", said)
    assert said.endswith(f"(--lr, --warmup); {path} keeps step 3.\n")
    assert path.read_bytes() == content


def refusal_after_warnings(capsys, words) -> str:
    """What a command that begins, and then fails, says in the end."""
    capsys.readouterr()
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


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
def test_going_on_is_the_same_as_never_stopping(tmp_path):
    main(char(tmp_path, "--steps", "7"))
    whole = load_checkpoint(tmp_path / "model.pt")
    main(char(tmp_path, "--steps", "3", "--force"))
    main(char(tmp_path, "--steps", "7", "--resume"))
    parts = load_checkpoint(tmp_path / "model.pt")
    assert parts.train_losses == whole.train_losses
    assert parts.val_losses == whole.val_losses
    for ours, theirs in zip(
        parts.model.parameters(), whole.model.parameters()
    ):
        assert torch.equal(ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("steps", ["3", "7"])
def test_to_go_on_the_checkpoint_is_read_once(steps, tmp_path, monkeypatch):
    """The witness: torch's own way to read a file."""
    main(char(tmp_path, "--steps", "3"))
    read, files = torch.load, []

    def counted(file, **options):
        files.append(file.name)
        return read(file, **options)

    monkeypatch.setattr(torch, "load", counted)
    assert main(char(tmp_path, "--steps", steps, "--resume")) == 0
    assert [str(file) for file in files] == [str(tmp_path / "model.pt")]


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


@pytest.mark.slow
def test_patience_ends_it_and_the_best_weights_are_saved(tmp_path):
    """At this rate the validation loss rises from some step on."""
    main(char(tmp_path, "--steps", "60", "--lr", "1", "--patience", "2"))
    kept = load_checkpoint(tmp_path / "model.pt")
    assert kept.training["step"] < 60
    valid = Chunks(kept.tokenizers[0].encode(TEXT)[164:], 8)
    assert mean_loss(kept.model, valid) == pytest.approx(min(kept.val_losses))
    assert min(kept.val_losses) < kept.val_losses[-1]
