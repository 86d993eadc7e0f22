"""What Colab has, and the chapters in which that can make a difference."""

import ast
import os
import re
from functools import cache
from pathlib import Path

import nbformat

import tformer_lite
from tests.helpers.project import EXERCISES, NOTEBOOKS

# August 2026. The last three are what IPython 7 needs and 9 does not.
COLAB = ["matplotlib==3.10.*", "seaborn==0.13.*", "ipython==7.34.*"]
COLAB += ["backcall", "decorator", "pickleshare"]
PACKAGES = {"matplotlib", "seaborn", "IPython", "torchinfo"}
DRAWING = {
    name
    for name in tformer_lite.__all__
    if getattr(tformer_lite, name).__module__.startswith("tformer_lite.draw")
}
NAMES = PACKAGES | DRAWING
MAGIC = re.compile(r"^\s*([%!]+\w*)", re.MULTILINE)
DEVANAGARI = re.compile("[\u0900-\u097f]")


@cache
def asks(chapter: Path) -> set[str]:
    """What a chapter asks of the packages of which Colab has others: what it
    draws, with which options, its magics, and the kinds of its outputs."""
    asked = set()
    for cell in nbformat.read(chapter, as_version=4).cells:
        if cell.cell_type == "code":
            asked |= set(MAGIC.findall(cell.source))
            for node in ast.walk(ast.parse(MAGIC.sub("#", cell.source))):
                asked |= named(node)
            for output in cell.outputs:
                asked |= kinds(output)
    return asked


def named(node: ast.AST) -> set[str]:
    """The names of such a package in a part of a program; of a call, with
    each option."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            return {f"{name}({word.arg}=)" for word in node.keywords}
        case ast.Name(id=name) if name in NAMES:
            return {name}
        case ast.ImportFrom(module=str(place)) if place.split(".")[0] in NAMES:
            return {f"{place}.{alias.name}" for alias in node.names}
        case ast.Import():
            return {alias.name for alias in node.names} & NAMES
    return set()


def kinds(output: nbformat.NotebookNode) -> set[str]:
    """The kinds of an output; and whether a picture has Nepali in it."""
    data = output.get("data", {})
    nepali = DEVANAGARI.search(data.get("image/svg+xml", ""))
    return {*data, output.output_type, *(["Nepali drawn"] if nepali else [])}


def chosen() -> list[Path]:
    """A few chapters that ask for all that any of them does, and exercises;
    all of them where `make colab` runs these tests."""
    if os.environ.get("COLAB") == "all":
        return [*NOTEBOOKS, *EXERCISES]
    some, left = [], set().union(*map(asks, NOTEBOOKS))
    while left:
        some.append(
            max(NOTEBOOKS, key=lambda chapter: len(asks(chapter) & left))
        )
        left -= asks(some[-1])
    return [*sorted(some), EXERCISES[5]]
