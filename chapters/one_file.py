"""Put the parts that readers build together, in two files that run alone.

A cell tagged `build` defines parts of my_transformer.py, one tagged `gpt`
parts of my_gpt.py, which takes what these need from the cells of the other.
What a later chapter completes, and so defines again, stands there alone.
"""

import ast
import re
from pathlib import Path

import jupytext

CHAPTERS = Path(__file__).parent
MY_TRANSFORMER, MY_GPT = CHAPTERS / "my_transformer.py", CHAPTERS / "my_gpt.py"
FIRST_LINE = re.compile(r"^(?!@).*", re.MULTILINE)  # below decorators
IMPORTS = '''"""
import sys
import torch
from torch import nn
from torch.nn.functional import cross_entropy'''
STARTS = {
    MY_TRANSFORMER: '''\
"""A Transformer that learns to translate. Its files, and each of its lines
explained: https://your_account.github.io/transformer-shape-by-shape

    python my_transformer.py train [FILE]      pairs.tsv -> translator.pt
    python my_transformer.py ["Hari saw us."]  translates this, or examples
''',
    MY_GPT: '''\
"""A language model that learns from any text. Each of its lines explained:
https://your_account.github.io/transformer-shape-by-shape

    python my_gpt.py                       learns this very file, and writes
    python my_gpt.py train my_text.txt     learns your text, in two minutes
    python my_gpt.py "Once upon" 0.8 20    continues (temperature, top-k)
''',
}
END = """\
if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (OSError, UnicodeError) as error:
        sys.exit(f"{error}\\n\\n{__doc__}")
"""


def main() -> None:
    """Write the files anew, if the chapters' cells are not those in them."""
    chapters = sorted(CHAPTERS.glob("*.md"))
    for path in STARTS:
        text = one_file(chapters, path)
        if not path.exists() or path.read_text("utf8") != text:
            print(f"writing {path.name}", flush=True)
            path.write_text(text, "utf8")


def one_file(chapters: list[Path], path: Path) -> str:
    """Put the parts of a file together, with the chapter of each."""
    parts = parts_of(chapters, {"build"})
    if path == MY_GPT:
        parts = parts_of(chapters, {"build", "gpt"})
        names = needed(parts, [*parts_of(chapters, {"gpt"})])
        parts = {name: parts[name] for name in parts if name in names}
    texts, before = [STARTS[path] + IMPORTS], ""
    for chapter, code in parts.values():
        said = f"  # chapter {int(chapter)}" if chapter != before else ""
        texts.append(FIRST_LINE.sub(rf"\g<0>{said}", code, count=1))
        before = chapter
    return "\n\n".join([*texts, END])


def parts_of(chapters: list[Path], tags: set[str]) -> dict:
    """List the chapter and the lines of what is defined in cells with one of
    these tags, by name, in order of place."""
    parts: dict[str, tuple[str, str]] = {}
    for text in chapters:
        for cell in tagged_cells(text, tags):
            for name, code in definitions(cell).items():
                parts.pop(name, None)
                parts[name] = text.name[:2], code
    return parts


def needed(parts: dict, names: list[str]) -> set[str]:
    """Gather these names and what their parts use, directly or not."""
    gathered: set[str] = set()
    while names:
        gathered.add(name := names.pop())
        nodes = ast.walk(ast.parse(parts[name][1]))
        used = {node.id for node in nodes if isinstance(node, ast.Name)}
        names += (used & parts.keys()) - gathered
    return gathered


def tagged_cells(text: Path, tags: set[str]) -> list[str]:
    """List the sources of a chapter's cells with one of these tags."""
    cells = jupytext.read(text).cells
    return [c.source for c in cells if tags & {*c.metadata.get("tags", [])}]


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
