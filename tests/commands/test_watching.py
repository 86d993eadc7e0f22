"""What `train` shows on the way: time, losses, writing, a CSV."""

import csv
import math
import re

import pytest

from tests.helpers.commands import TEXT, char, translate
from tests.helpers.learning import Cut
from tformer_lite import Chunks, load_checkpoint, mean_loss, train
from tformer_lite.__main__ import main
from tformer_lite.commands.learning import course, writers
from tformer_lite.training import trainer


@pytest.fixture
def at_once(monkeypatch):
    """Without a pause between lines, and with a line after each step."""
    monkeypatch.setattr(course, "TIMED_SECONDS", -1.0)
    monkeypatch.setattr(course, "PAUSE", -1.0)


def rows_of(folder) -> list[list[str]]:
    """The losses in the CSV, below its header."""
    with open(
        folder / "model_losses.csv", newline="", encoding="utf8"
    ) as file:
        head, *rows = csv.reader(file)
    assert head == ["step", "seconds", "train_loss", "val_loss"]
    return rows


def matches(folder) -> list[int]:
    """The steps of the CSV, whose losses are those of the checkpoint."""
    kept, rows = load_checkpoint(folder / "model.pt"), rows_of(folder)
    assert [float(row[2]) for row in rows] == kept.train_losses
    assert [float(row[3]) for row in rows] == kept.val_losses
    times = [float(row[1]) for row in rows]
    assert times == sorted(times)
    return [int(row[0]) for row in rows]


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
def test_a_csv_that_cannot_be_written_stops_nothing(capsys, tmp_path):
    (tmp_path / "model_losses.csv").mkdir()
    assert main(char(tmp_path, "--steps", "1")) == 0
    assert "model_losses.csv is not written: " in capsys.readouterr().err


@pytest.mark.slow
def test_the_time_is_said_first_and_what_is_left_on_the_way(
    capsys, tmp_path, at_once
):
    main(char(tmp_path, "--steps", "20"))
    lines = capsys.readouterr().out.splitlines()
    first = next(line for line in lines if line.startswith("Expected time"))
    time = r"about \d+ s"
    speed = r"[\d,]+ tokens a second"
    assert re.fullmatch(rf"Expected time: {time} for 18 steps, {speed}", first)
    shown = [line for line in lines if line.startswith("Step")]
    one = rf"Step 3/20: loss \d\.\d{{4}}, {speed}, {time} left"
    assert re.fullmatch(one, shown[1])
    notes = [line for line in shown if "train_loss" in line]
    assert len(shown) - len(notes) == 9  # between the notes
    assert len(notes) == 10


@pytest.mark.slow
def test_what_is_shown_leaves_the_numbers_alone(
    tmp_path, monkeypatch, at_once
):
    """Dropout is on. The witness trains without a word."""
    main(char(tmp_path, "--steps", "12"))
    shown = load_checkpoint(tmp_path / "model.pt")

    def silent(one, data, valid, path, *_):
        train(one, data, valid, path)

    monkeypatch.setattr(course, "train", silent)
    main(char(tmp_path, "--steps", "12"))
    kept = load_checkpoint(tmp_path / "model.pt")
    assert kept.train_losses == shown.train_losses
    assert kept.val_losses == shown.val_losses


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "demo"),
    [
        (TEXT, "amar"),
        (TEXT, "???"),
        ("मुख खाली छैन ।\n" * 20, "मुख"),
        ("漢字\n文" * 60, "漢"),
    ],
    ids=["short", "unknown", "marks", "wide"],
)
def test_beside_each_loss_the_model_writes_one_line(
    capsys, tmp_path, text, demo
):
    main(char(tmp_path, "--steps", "4", "--demo", demo, text=text))
    lines = capsys.readouterr().out.splitlines()
    notes = [i for i, line in enumerate(lines) if "train_loss" in line]
    assert len(notes) == 4
    label = "  It writes: "
    for i in notes:
        start = text[0] if demo == "???" else demo
        # A blank that it begins with cannot be seen.
        says, shown = lines[i + 1][: len(label)], lines[i + 1][len(label) :]
        assert says == label
        assert demo == "???" or shown.startswith(start)
        wide = sum(1 + (c >= "\u4e00") for c in shown)
        assert 10 < wide <= writers.LINE_WIDTH
    assert not lines[notes[-1] + 2].startswith("  ")


@pytest.mark.slow
def test_the_whole_validation_set_has_a_line_in_the_end(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr(course, "rows_to_validate", lambda _: 2)
    main(char(tmp_path, "--steps", "3"))
    said = capsys.readouterr().out
    kept = load_checkpoint(tmp_path / "model.pt")
    valid = Chunks(kept.tokenizers[0].encode(TEXT)[164:], 8)
    loss = mean_loss(kept.model, valid)
    assert "Validation: on the way on 16 of 40 tokens, always the same" in said
    line = f"Whole validation set, 40 tokens: val_loss={loss:.4f}, perplexity="
    assert f"{line}{math.exp(loss):.2f}\n" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("most", "said"),
    [(5, "Epoch 1/2: "), (4, "Step 4/10: "), (1, "Step 1/10: ")],
)
def test_a_long_epoch_has_its_first_losses_before_it_ends(
    capsys, tmp_path, monkeypatch, most, said
):
    """An epoch has 5 steps."""
    monkeypatch.setattr(course, "STEPS", most)
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


@pytest.mark.slow
def test_translations_are_shown_beside_each_loss(capsys, tmp_path):
    main(translate(tmp_path, "--steps", "2"))
    lines = capsys.readouterr().out.splitlines()
    notes = [i for i, line in enumerate(lines) if "train_loss" in line]
    assert len(notes) == 2
    for i in notes:
        shown = lines[i + 1 : i + 4]
        assert all(re.match(r"  \w+ \w+\. -> ", line) for line in shown)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "0 s"),
        (89, "89 s"),
        (90, "2 min"),
        (5399, "90 min"),
        (5400, "1.5 h"),
        (360000, "100.0 h"),
    ],
)
def test_a_time_has_the_unit_that_suits_it(seconds, said):
    assert course.duration_text(seconds) == said
