"""Plant faults at random, one at a time, and see which the tests notice.

    python -m tests.faults COUNT SEED [FOLDER]

A fault changes one sign or number inside a function of a package: it is
written into the file, the tests of its room are run, first those of
`make test`, then those of `make full`, and the file is put back. FOLDER is
another checkout, in which the same faults are planted, by function and line:
so two states of the house can be compared. Leave a checkout alone meanwhile.
"""

import ast
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, zip_longest
from pathlib import Path
from random import Random
from typing import NamedTuple

ROOMS = [
    *("tformer_lite", "shapewatch", "classroom", "explorer", "gallery"),
    *("chapters/pictures", "book/_tools", "book/_ext"),
]
# The tests of a room, where they are not in the folder of its name.
TESTS = {
    "tformer_lite/model": "model pytorch sources",
    "tformer_lite/parts": "model pytorch sources",
    "tformer_lite/hooks.py": "model",
    "tformer_lite/__main__.py": "commands",
    "chapters/pictures": "drawing",
    "book": "book project",
    "shapewatch/commands": "shapewatch/test_commands.py",
    "shapewatch/pytest_plugin.py": "project/test_plugin.py",
    "shapewatch/__init__.py": "project",
    "tformer_lite/__init__.py": "project model",
    "tformer_lite/extras.py": "model text decoding",
    "tformer_lite/rounding.py": "drawing",
}
SECONDS = 300  # for the tests of a fault, which may make a loop endless
# Nodes that are signs, and each other's faults.
SIGNS = {"Lt": "<", "Gt": ">", "Eq": "==", "In": "in", "Is": "is"}
SIGNS |= {"And": "and", "Add": "+", "Mult": "*", "BitAnd": "&"}
SIGNS |= {"LtE": "<=", "GtE": ">=", "NotEq": "!=", "NotIn": "not in"}
SIGNS |= {"IsNot": "is not", "Or": "or", "Sub": "-", "Div": "/", "BitOr": "|"}
SWAPS = dict(zip([*SIGNS][:9], [*SIGNS][9:]))
SWAPS |= {second: first for first, second in SWAPS.items()}


class Fault(NamedTuple):
    """A line of a function, and what is written in its place."""

    file: str
    function: str
    line: str
    wrong: str


def functions(source: str) -> Iterator[ast.FunctionDef]:
    """The functions and methods of a file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            yield node


def changes(node: ast.AST, text: str) -> Iterator[tuple[int, int, int, str]]:
    """What can be changed in an expression of one line: the line, from where
    to where, and the other text."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        pairs = [(node.left, node.ops[0], node.comparators[0])]
    elif isinstance(node, ast.BinOp):
        pairs = [(node.left, node.op, node.right)]
    elif isinstance(node, ast.BoolOp):
        pairs = [(node.values[0], node.op, node.values[1])]
    else:
        pairs = []
    for left, sign, right in pairs:
        if left.end_lineno == right.lineno and type(sign).__name__ in SWAPS:
            between = left.end_col_offset, right.col_offset
            opening = text[slice(*between)].count("(") * "("
            other = f" {SIGNS[SWAPS[type(sign).__name__]]} {opening}"
            if ")" not in text[slice(*between)]:
                yield left.end_lineno, *between, other
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield (
            node.lineno,
            node.col_offset,
            node.end_col_offset,
            str(node.value + 1),
        )
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        start = node.col_offset
        yield node.lineno, start, start + len("not "), ""


def faults_of(file: str, source: str) -> Iterator[Fault]:
    """Every fault that can be planted in a file."""
    lines = source.splitlines()
    for function in functions(source):
        for node in chain(*map(computed_parts, function.body)):
            row = getattr(node, "lineno", 1) - 1
            for number, start, end, other in changes(node, lines[row]):
                line = lines[number - 1]
                if line.isascii():  # columns are counted in bytes
                    wrong = line[:start] + other + line[end:]
                    yield Fault(file, function.name, line, wrong)


def computed_parts(node: ast.AST) -> Iterator[ast.AST]:
    """All that is computed in a piece of code: no types of arguments; and no
    f-strings, which have no exact places before Python 3.12."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.JoinedStr | ast.arguments):
            yield from computed_parts(child)


def python_files(folder: Path) -> dict[str, str]:
    """The text of each Python file of the packages, by its path."""
    files = [f for room in ROOMS for f in (folder / room).rglob("*.py")]
    return {str(f.relative_to(folder)): f.read_text("utf8") for f in files}


def places(fault: Fault, files: dict[str, str]) -> list[tuple[str, int]]:
    """Where a fault can be planted: files, and numbers of lines."""
    return [
        (file, number)
        for file, source in files.items()
        if fault.line in source
        for function in functions(source)
        if function.name == fault.function
        for number in range(function.lineno - 1, function.end_lineno or 0)
        if source.splitlines()[number] == fault.line
    ]


def test_paths(folder: Path, file: str) -> list[str]:
    """The tests of the room in which a file stands, longest name first."""
    room = "/".join(Path(file).parts[:2])
    by_name = [name for name in TESTS if file.startswith(name)]
    same = room if (folder / "tests" / room).is_dir() else Path(room).stem
    if not by_name and not (folder / "tests" / same).is_dir():
        same = Path(file).parts[0]
    texts = TESTS[max(by_name, key=len)].split() if by_name else [same]
    paths = [f"tests/{text}" for text in texts]
    return [path for path in paths if (folder / path).exists()] or ["tests"]


def witness(folder: Path, fault: Fault, file: str, number: int) -> str:
    """Plant a fault, run the tests of its room, and name the first that
    fails; nothing, where none does."""
    place = folder / file
    original = place.read_text("utf8")
    lines = original.splitlines(keepends=True)
    lines[number] = f"{fault.wrong}\n"
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider"]
    command += test_paths(folder, file)
    one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    place.write_text("".join(lines), "utf8")
    try:
        for marks in ("not full", "full"):
            try:
                run = subprocess.run(
                    [*command, "-m", marks], cwd=folder, timeout=SECONDS,
                    env=os.environ | one, capture_output=True, text=True,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return "too slow"
            if run.returncode not in (0, 5):
                return marks + ": " + failure(run.stdout)
    finally:
        place.write_text(original, "utf8")
    return ""


def failure(output: str) -> str:
    """The first test that failed, or could not start."""
    lines = [x for x in output.splitlines() if x[:6] in ("FAILED", "ERROR ")]
    return lines[0] if lines else "nothing could be started"


def shuffled(faults: list[Fault], seed: int) -> list[Fault]:
    """Faults at random, from one room after the other in turn."""
    Random(seed).shuffle(faults)
    rooms = defaultdict[str, list[Fault]](list)
    for fault in faults:
        rooms[" ".join(test_paths(Path(), fault.file))].append(fault)
    turns = zip_longest(*rooms.values())
    return [fault for turn in turns for fault in turn if fault]


def main(count: str, seed: str, folder: str = ".") -> None:
    """Plant so many faults, and print by which test each is noticed."""
    here, there = python_files(Path()), python_files(Path(folder))
    faults = [f for file, text in here.items() for f in faults_of(file, text)]
    plantable = (
        fault
        for fault in shuffled(faults, int(seed))
        if len(places(fault, here)) == len(places(fault, there)) == 1
    )
    answers = []
    for fault, _ in zip(plantable, range(int(count))):
        file, number = places(fault, there)[0]
        answers.append(witness(Path(folder), fault, file, number))
        print(f"{file}:{number + 1}\n  {fault.wrong}")
        print(f"  {answers[-1] or 'NOT NOTICED'}", flush=True)
    print(f"{sum(map(bool, answers))} of {len(answers)} faults are noticed")


if __name__ == "__main__":
    main(*sys.argv[1:])
