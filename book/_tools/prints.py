"""Run the Python of a page, block by block, and compare or write what it
prints.

make prints NANOGPT=folder   # the folder of a checkout of nanoGPT

writes into book/own_model.md what comes of nanoGPT's real model.py, and into
book/other_tools.md what these tools print.
"""

import io
import re
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

import tformer_lite
from shapewatch.tracing.markup import STYLE

PAGES = [
    Path(__file__).parents[1] / name
    for name in ("own_model.md", "other_tools.md")
]
FILE = re.compile(r"# (\w+)\.py\n")  # a block that is a file of its own
# What few have: a block that names one which is not there is not run.
OTHER_TOOLS = "lovely_tensors", "torchlens", "torchtyc", "torchview"
FENCE = r"(?:text|{raw} html|{code-block} text\n:class: wide\n)\n"
PRINTS = re.compile(
    rf"^ *```python\n(.*?)^ *```(?:\n\n```{FENCE}(.*?)\n```)?",
    re.DOTALL | re.MULTILINE,
)


def prints_of(text: str) -> Iterator[tuple[re.Match, str | None]]:
    """Run the blocks of a page in their order: each, and what it prints, or
    None where a tool is not there. The files that they write are gone
    afterwards."""
    names: dict[str, Any] = {
        name: getattr(tformer_lite, name) for name in tformer_lite.__all__
    }
    names |= {"torch": torch, "x": torch.zeros(2, 8, 12)}
    names |= {"d_model": 12, "n_heads": 3}
    with TemporaryDirectory() as folder, imports_from(folder):
        for n, block in enumerate(PRINTS.finditer(text)):
            named = FILE.match(block[1])
            file = Path(folder, f"{named[1] if named else n}.py")
            file.write_text(block[1], "utf8")  # a trace reads its lines
            lacking = [
                x for x in OTHER_TOOLS if x in block[1] and not find_spec(x)
            ]
            with chdir(folder):
                said = None if lacking else output(block, str(file), names)
            yield block, said


@contextmanager
def imports_from(folder: str) -> Iterator[None]:
    """Let what stands in a folder be imported, and then be forgotten."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        for file in Path(folder).glob("*.py"):
            sys.modules.pop(file.stem, None)


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
    """Write what the pages print with the model.py of a folder."""
    sys.path.insert(0, str(Path(folder).resolve()))
    for page in PAGES:
        text = page.read_text("utf8")
        for block, said in reversed([*prints_of(text)]):
            if block[2] is not None:
                if said is None:
                    raise ImportError(f"no tool for: {block[1]}")
                start, end = block.span(2)
                text = text[:start] + said + text[end:]
        page.write_text(text, "utf8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1])
