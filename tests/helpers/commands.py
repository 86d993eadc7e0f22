"""What the tests of the command lines type, and what they are answered."""

import re
import shlex
from pathlib import Path

import pytest

TEXT = "amar sonar bangla, ami tomay bhalobashi.\n" * 5
SMALL = ["--d_model=16", "--num_heads=2", "--num_layers=1", "--d_ff=16"]


def char(folder: Path, *options: str, text: str = TEXT) -> list[str]:
    """The words of a command that trains on a text."""
    (folder / "text.txt").write_text(text, "utf8")
    command = ["train", "char", str(folder / "text.txt"), *SMALL]
    command += ["--save_path", str(folder / "model.pt"), "--block_size", "8"]
    return [*command, "--max_seq_len", "8", *options]


def refusal(capsys, *words: str, main) -> str:
    """The one line that a wrong command is answered with."""
    capsys.readouterr()
    try:
        code = main([str(word) for word in words])
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    assert code == 2
    assert said.err.count("\n") == 1
    package = main.__module__.partition(".")[0]
    assert said.err.startswith(f"{package}: ")
    return said.err


def examples(capsys, *command: str, main) -> list[list[str]]:
    """The words of each command that --help gives as an example."""
    with pytest.raises(SystemExit) as end:
        main([*command, "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) < 80
    package = main.__module__.partition(".")[0]
    typed = rf"^  (?:python|torch).*?-m {package} ?(.*)"
    lines = re.findall(typed, said, re.MULTILINE)
    return [shlex.split(example.split(" < ")[0]) for example in lines]
