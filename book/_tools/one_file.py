"""Put the parts that readers build together: chapters/my_transformer.py.

A chapter's cells tagged `build` define its parts. What a later chapter
completes, and so defines again, stands there alone.
"""

import ast
from pathlib import Path

import jupytext
from packages import ONE_FILE, ROOT

BUILD_TAG = "build"
FILE_START = '''\
"""A Transformer that translates English into Nepali, in one file.

`python my_transformer.py` runs it; its trained numbers, translator.pt,
belong beside it. Each part is a cell of The Transformer, Shape by Shape,
whose chapters explain it.
"""

import torch
from torch import nn'''
FILE_END = """


if __name__ == "__main__":
    main()
"""


def main() -> None:
    """Write the file anew, if the chapters' cells are not those in it."""
    text = one_file(sorted((ROOT / "chapters").glob("*.md")))
    if not ONE_FILE.exists() or ONE_FILE.read_text("utf8") != text:
        print(f"writing {ONE_FILE.name}", flush=True)
        ONE_FILE.write_text(text, "utf8")


def one_file(chapters: list[Path]) -> str:
    """Put the parts of all chapters together, each below its chapter."""
    built = {text: "\n\n\n".join(build_cells(text)) for text in chapters}
    last = {
        name: text for text in chapters for name in definitions(built[text])
    }
    parts = [FILE_START]
    for text, source in built.items():
        codes = definitions(source)
        kept = [code for name, code in codes.items() if last[name] == text]
        if kept:
            title = text.read_text("utf8").split("\n# ")[1].splitlines()[0]
            parts.append(f"\n\n# Chapter {title}\n" + "\n\n\n".join(kept))
    return "\n".join(parts) + FILE_END


def build_cells(text: Path) -> list[str]:
    """List the sources of a chapter's cells that define its parts."""
    return [
        cell.source
        for cell in jupytext.read(text).cells
        if BUILD_TAG in cell.metadata.get("tags", [])
    ]


def definitions(source: str) -> dict[str, str]:
    """List what a source defines, with the lines that do, by name."""
    lines = source.splitlines()
    codes = {}
    for node in ast.parse(source).body:
        above = getattr(node, "decorator_list", [])
        first = above[0].lineno if above else node.lineno
        name = getattr(node, "name", ast.unparse(node).partition(" =")[0])
        codes[name] = "\n".join(lines[first - 1 : node.end_lineno])
    return codes


if __name__ == "__main__":
    main()
