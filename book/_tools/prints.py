"""Run the Python of a page, block by block, and compare or write what it
prints.

make prints NANOGPT=folder   # the folder of a checkout of nanoGPT

writes into book/own_model.md what comes of nanoGPT's real model.py.
"""

import io
import re
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

import tformer_lite
from shapewatch.tracing.markup import STYLE

OWN_MODEL = Path(__file__).parents[1] / "own_model.md"
FENCE = r"(?:text|{raw} html|{code-block} text\n:class: wide\n)\n"
PRINTS = re.compile(
    rf"^ *```python\n(.*?)^ *```(?:\n\n```{FENCE}(.*?)\n```)?",
    re.DOTALL | re.MULTILINE,
)


def prints_of(text: str) -> Iterator[tuple[re.Match, str]]:
    """Run the blocks of a page in their order: each, and what it prints. The
    files that they write are gone afterwards."""
    names: dict[str, Any] = {
        name: getattr(tformer_lite, name) for name in tformer_lite.__all__
    }
    names |= {"torch": torch, "x": torch.zeros(2, 8, 12)}
    names |= {"d_model": 12, "n_heads": 3}
    with TemporaryDirectory() as folder:
        for n, block in enumerate(PRINTS.finditer(text)):
            file = Path(folder, f"{n}.py")  # a trace reads its lines
            file.write_text(block[1], "utf8")
            with chdir(folder):
                said = output(block, str(file), names)
            yield block, said


def output(block: re.Match, file: str, names: dict[str, Any]) -> str:
    """Run a block: what it prints, or what a notebook shows of its last
    line, where the page has that."""
    with redirect_stdout(io.StringIO()) as out:
        exec(compile(block[1], file, "exec"), names)
    if not (block[2] or "").startswith("<"):
        return out.getvalue().rstrip()
    said = eval(block[1].splitlines()[-1], names)._repr_html_()
    return said.removeprefix(STYLE)  # the book has it once


def main(folder: str) -> None:
    """Write what the page prints with the model.py of a folder."""
    sys.path.insert(0, str(Path(folder).resolve()))
    text = OWN_MODEL.read_text("utf8")
    for block, said in reversed([*prints_of(text)]):
        if block[2] is not None:
            start, end = block.span(2)
            text = text[:start] + said + text[end:]
    OWN_MODEL.write_text(text, "utf8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1])
