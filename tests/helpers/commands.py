"""What the tests of the command line type: small, and done in a moment."""

from pathlib import Path

from tformer_lite.__main__ import main

TEXT = "amar sonar bangla, ami tomay bhalobashi.\n" * 5
WORDS = ("one", "two", "red", "old", "new", "big", "sun", "sea")
PAIRS = [(f"{a} {b}.", f"{b[::-1]} {a[::-1]} ।") for a in WORDS for b in WORDS]
SMALL = ["--d_model=16", "--num_heads=2", "--num_layers=1", "--d_ff=16"]
WINDOW = ["--block_size", "8", "--max_seq_len", "8"]


def char(folder: Path, *options: str, text: str = TEXT) -> list[str]:
    """The words of a command that trains on a text."""
    (folder / "text.txt").write_text(text, "utf8")
    path = ["--save_path", str(folder / "model.pt")]
    command = ["train", "char", str(folder / "text.txt"), *SMALL, *WINDOW]
    command += ["--as-in-source"]
    return [*command, *path, *options]


def translate(folder: Path, *options: str, pairs=PAIRS) -> list[str]:
    """The words of a command that trains on pairs."""
    lines = "".join(f"{english}\t{nepali}\n" for english, nepali in pairs)
    (folder / "pairs.tsv").write_text(lines, "utf8")
    path = ["--save_path", str(folder / "model.pt")]
    command = ["train", "translate", str(folder / "pairs.tsv"), *SMALL]
    return [*command, *path, *options]


def refusal(capsys, *words: str) -> str:
    """The one line that a wrong command is answered with."""
    capsys.readouterr()
    try:
        code = main([str(word) for word in words])
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    assert code == 2
    assert said.err.count("\n") == 1
    assert said.err.startswith("tformer_lite: ")
    return said.err
