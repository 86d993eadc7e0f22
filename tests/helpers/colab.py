"""What Colab has, and the chapters in which that can make a difference."""

import ast
import os
import re
from functools import cache
from pathlib import Path

import nbformat
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import tformer_lite
from tests.helpers.project import EXERCISES, NOTEBOOKS, ROOT

# August 2026. The last three are what IPython 7 needs and 9 does not.
COLAB = ["matplotlib==3.10.*", "seaborn==0.13.*", "ipython==7.34.*"]
COLAB += ["backcall", "decorator", "pickleshare"]
PACKAGES = {"matplotlib", "seaborn", "IPython", "torchinfo"}
DRAWING = {
    name: place
    for name in tformer_lite.__all__
    if (place := getattr(tformer_lite, name).__module__).startswith(
        "tformer_lite.drawing"
    )
}
THEIRS = {*dir(Axes), *dir(Figure)} - {*dir(dict), *dir(str)}
MAGIC = re.compile(r"^\s*([%!]+\w*)", re.MULTILINE)
DEVANAGARI = re.compile("[\u0900-\u097f]")


@cache
def asks(chapter: Path) -> set[str]:
    """What a chapter asks of the packages of which Colab has others: itself,
    and by what it draws; its magics, and the kinds of its outputs."""
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
    """The names of such a package in a part of a program; and what is asked
    of it by what is drawn there."""
    match node:
        case ast.Name(id=name) if name in DRAWING:
            return in_module(DRAWING[name])
        case ast.ImportFrom(module=str(place)) if is_package(place):
            return {f"{place}.{alias.name}" for alias in node.names}
        case ast.Import():
            return {x.name for x in node.names if is_package(x.name)}
    return set()


def is_package(place: str) -> bool:
    """Whether something is imported from such a package."""
    return place.partition(".")[0] in PACKAGES


@cache
def in_module(name: str) -> set[str]:
    """What the module of a drawing asks by itself: what it imports, and does
    with figures and axes. What all drawings share is asked for by each."""
    file = ROOT / f"{name.replace('.', '/')}.py"
    nodes = [*ast.walk(ast.parse(file.read_text("utf8")))]
    return set().union(*map(named, nodes), *map(done, nodes))


def done(node: ast.AST) -> set[str]:
    """A call of what figures or axes can do, with each option."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) if name in THEIRS:
            return {name, *(f"{name}({word.arg}=)" for word in node.keywords)}
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
