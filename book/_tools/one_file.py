"""Put the parts that readers build together, in two files that run alone.

A cell tagged `build` defines parts of my_transformer.py, one tagged `gpt` parts
of my_gpt.py, which takes what these need from the cells of the other. What a
later chapter completes, and so defines again, stands there alone.
"""

import ast
from pathlib import Path
from typing import NamedTuple

import jupytext
from packages import MY_GPT, MY_TRANSFORMER, ROOT

IMPORTS = '''"""

import sys
import torch
from torch import nn
from torch.nn.functional import cross_entropy
'''
STARTS = {
    MY_TRANSFORMER: '''\
"""A Transformer that learns to translate. Its files, and each of its lines
explained: https://your_account.github.io/transformer-shape-by-shape

    python my_transformer.py train             learns from pairs.tsv
    python my_transformer.py "Hari saw us."    translates what you type
    python my_transformer.py                   shows examples, and shapes
''',
    MY_GPT: '''\
"""A language model that learns from any text. Each of its lines explained:
https://your_account.github.io/transformer-shape-by-shape

    python my_gpt.py                       learns this very file, and writes
    python my_gpt.py train my_text.txt     learns your text, in two minutes
    python my_gpt.py "Once upon" 0.8 20    continues (temperature, top-k)
''',
}
END = """
if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (OSError, UnicodeError) as error:
        sys.exit(f"{error}\\n\\n{__doc__}")
"""


class Part(NamedTuple):
    """What a cell defines: the number of its chapter, and its lines."""

    chapter: int
    code: str


def main() -> None:
    """Write the files anew, if the chapters' cells are not those in them."""
    chapters = sorted((ROOT / "chapters").glob("*.md"))
    for path in STARTS:
        text = one_file(chapters, path)
        if not path.exists() or path.read_text("utf8") != text:
            print(f"writing {path.name}", flush=True)
            path.write_text(text, "utf8")


def one_file(chapters: list[Path], path: Path) -> str:
    """Put the parts of a file together, with the chapter of each."""
    parts = parts_of(chapters, "build")
    if path == MY_GPT:
        own = parts_of(chapters, "gpt")
        parts = {n: part for n, part in parts.items() if n not in own} | own
        parts = {n: parts[n] for n in parts if n in needed(parts, [*own])}
    texts, chapter = [STARTS[path] + IMPORTS], None
    for part in parts.values():
        said = "" if part.chapter == chapter else f"  # chapter {part.chapter}"
        lines = part.code.split("\n")
        first = next(i for i, line in enumerate(lines) if line[0] != "@")
        lines[first] += said
        texts.append("\n".join(lines) + "\n")
        chapter = part.chapter
    return "\n".join([*texts, END.lstrip("\n")])


def parts_of(chapters: list[Path], tag: str) -> dict[str, Part]:
    """List what the cells with a tag define, by name, in order of place."""
    parts: dict[str, Part] = {}
    for text in chapters:
        for cell in tagged_cells(text, tag):
            for name, code in definitions(cell).items():
                parts.pop(name, None)
                parts[name] = Part(int(text.name[:2]), code)
    return parts


def needed(parts: dict[str, Part], names: list[str]) -> set[str]:
    """Gather these names and what their parts use, directly or not."""
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            nodes = ast.walk(ast.parse(parts[name].code))
            used = {node.id for node in nodes if isinstance(node, ast.Name)}
            names += used & parts.keys()
    return found


def tagged_cells(text: Path, tag: str) -> list[str]:
    """List the sources of a chapter's cells with a tag."""
    return [
        cell.source
        for cell in jupytext.read(text).cells
        if tag in cell.metadata.get("tags", [])
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
