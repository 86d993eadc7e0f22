"""`translate --heatmap` and `--shapes`: inside, with one sentence."""

import re

import pytest
import torch

from tests.helpers.commands import refusal
from tformer_lite import trace, trained_translator
from tformer_lite.__main__ import main
from tformer_lite.commands.looking import proved_trace
from tformer_lite.drawing.surface import picture

ENGLISH = "they will buy bread."
NEPALI = "उनीहरू रोटी किन्नेछन् ।"


def pair() -> tuple[torch.Tensor, torch.Tensor]:
    """The sentence, and what is read of its translation."""
    source, target = trained_translator().tokenizers
    tgt = target.encode([target.row(NEPALI, 6)])
    return source.encode([source.row(ENGLISH, 7)]), tgt[:, :-1]


@pytest.mark.slow
def test_a_heatmap_shows_where_each_word_comes_from(capsys, tmp_path):
    """The witnesses: the heads' weights, traced here; rows that sum to 1;
    and *bread*, the fourth of the words, from which रोटी is written."""
    path = tmp_path / "looks.svg"
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
    seen = trace(trained_translator().model, *pair(), keep=True)
    heads = [one.weights[0] for one in seen.attention()]
    wanted = sum(heads[-1]) / 3
    assert (torch.tensor(rows) - wanted).abs().max() < 0.0051
    main(["translate", ENGLISH, "--heatmap", str(path.with_suffix(".png"))])
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--heatmap", "looks.png"], "give one, in quotes"),
        ([ENGLISH, ENGLISH, "--heatmap", "looks.png"], "give one, in quotes"),
        ([ENGLISH, ENGLISH, "--shapes"], "give one, in quotes"),
        ([" ", "--shapes"], "give one, in quotes"),
        ([ENGLISH, "--interactive", "--shapes"], "give one, in quotes"),
        ([ENGLISH, "--shapes", "--max_len", "1"], "no word to look at"),
        ([ENGLISH, "--heatmap", "looks.pdf"], "end in .png or .svg"),
        ([ENGLISH, "--heatmap", "looks"], "end in .png or .svg"),
        ([ENGLISH, "--heatmap", "nowhere/looks.png"], "nowhere/looks.png: No"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(
    words, said, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert said in refusal(capsys, "translate", *words)
    assert list(tmp_path.iterdir()) == []


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
    assert tree[-1] == "depth=4 of 5"


@pytest.mark.slow
def test_the_sentence_is_read_by_the_model_itself():
    """Not by those of other sizes, which prove the names of axes."""
    model = trained_translator().model
    assert proved_trace(model, *pair()).result.equal(model(*pair()))
