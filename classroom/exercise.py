"""What an exercise is, and where exercises are found: data beside the
chapters, in TOML, with the statements in the notebooks."""

import ast
import json
import re
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

KINDS = {
    "shape": "predict the shape",
    "line": "fill in the line",
    "mask": "draw the mask",
    "bug": "fix the bug",
    "part": "write a part of the model",
    "ablation": "measure what a change does",
    "explain": "explain",
    "hunt": "find three bugs",
    "result": "hand in a result",
}
# Where the data lie: in the package that notebooks fetch, or in a copy of the
# repository. Homework lies packed, so that no search finds its answers.
PACKED_HERE = Path(__file__).parent / "exercises"
CHAPTERS = Path(__file__).parents[1] / "chapters"
FOLDERS = (
    [PACKED_HERE]
    if any(PACKED_HERE.glob("*.md"))
    else [CHAPTERS / "exercises", CHAPTERS / "assignments"]
)
HOMEWORK, TRIALS = "homework.zip", "homework_trials.json.xz"
SECTION = re.compile(r"^## (?:\d+ · )?([^\n]+)\n(.*?)(?=^## |\Z)", re.M | re.S)
CHECK = re.compile(r'\bcheck\("(\w+)"')
CODE_CELL = re.compile(
    r"^```\{code-cell\}[^\n]*\n(?:---\n.*?^---\n)?(.*?)^```", re.M | re.S
)
SOLUTION = re.compile(r"<summary>A solution.*?```python\n(.*?)```", re.S)

TextRows = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Exercise:
    """One exercise, as its section in the TOML and in the notebook say it.

    `right` is the code of a right answer, as a student would write it: the
    solution that unfolds in the notebook, or what the section gives. An edit
    is a mistake: what stands in that code and what would stand there instead
    (one pair or several), and a sentence that says what is wrong with it. An
    empty text is replaced by a line at the end.

    `axes` names what goes in and comes out, as in "q: B H T D, pad: -> B T".
    `sizes` and `draw` are lines of Python that draw it (see trials.py), for
    `cases` ordinary cases, or three. Each of `edges` says what is special
    about an input, and has the lines that make it so after the others. A
    class is built with `make`, the arguments of a call. `without` names what
    an answer may not use. What is `assignable` as homework has no solution in
    the book; a `rubric` is for a person who reads. A part of an assignment
    has `points`; `inside` names the earlier parts that it is built of. `file`
    is the notebook's text.
    """

    name: str
    chapter: int
    title: str
    kind: str
    minutes: int
    level: int
    teaches: str
    axes: str = ""
    sizes: str = ""
    draw: str = ""
    cases: int = 0
    edges: TextRows = ()
    make: str = ""
    right: str = ""
    edits: TextRows = ()
    names: str = ""
    without: tuple[str, ...] = ()
    tolerance: float = 1e-4
    rubric: tuple[str, ...] = ()
    assignable: bool = False
    points: float = 0.0
    inside: tuple[str, ...] = ()
    file: str = ""

    @property
    def inputs(self) -> dict[str, list[str]]:
        """The names of what goes in, each with the letters of its axes."""
        left = self.axes.partition("->")[0].split(",")
        named = (part.partition(":") for part in left if part.strip())
        return {name.strip(): letters.split() for name, _, letters in named}

    @property
    def output(self) -> list[str]:
        """The letters of the axes of what comes out."""
        return self.axes.partition("->")[2].split()


@cache
def exercises() -> dict[str, Exercise]:
    """List every exercise of the book by its name, chapter by chapter, in the
    order of the notebooks; then those of the assignments."""
    by_name: dict[str, Exercise] = {}
    for file in statement_files():
        sections = dict(notebook_sections(file.read_text("utf8")))
        tables = exercise_tables(file, sections)
        common = "".join(table.pop("names", "") for table, _ in tables)
        rows = {
            name: {"assignable": secret, "names": common} | data
            for table, secret in tables
            for name, data in table.items()
        }
        order = sorted(rows, key=[*sections, *rows].index)
        join_parts({n: rows[n] for n in order if is_part(rows[n])})
        for name in order:
            by_name[name] = read_exercise(name, rows[name], file, sections)
    return by_name


def is_part(row: Mapping[str, Any]) -> bool:
    """Tell whether a row is that of a part of an assignment."""
    return "points" in row.get("about", ())


def join_parts(rows: Mapping[str, dict[str, Any]]) -> None:
    """Let each part of an assignment use the right code of those before it,
    and list which of them are inside it: its own code has their names."""
    earlier, part_of = "", dict[str, str]()
    for name, row in rows.items():
        code = row.get("right", "")
        words = {*re.findall(r"\w+", code)}
        used = {part for word, part in part_of.items() if word in words}
        used = used.union(*(rows[part]["inside"] for part in used))
        row["inside"] = [part for part in part_of.values() if part in used]
        row["names"] += earlier
        earlier += code
        if gives := re.search(rf"^{name} = (\w+)$", code, re.MULTILINE):
            part_of[gives[1]] = name


def statement_files() -> list[Path]:
    """List the notebooks with exercises."""
    return [f for folder in FOLDERS for f in sorted(folder.glob("[0-9]*.md"))]


def exercise_tables(
    file: Path, sections: Iterable[str]
) -> list[tuple[dict[str, Any], bool]]:
    """Read what is said of the exercises of a notebook, each time with
    whether that is homework: beside it, packed, or stored."""
    tables = []
    beside, packed = file.with_suffix(".toml"), FOLDERS[0] / HOMEWORK
    if beside.exists():
        tables.append((tomllib.loads(beside.read_text("utf8")), False))
    if packed.exists():
        with zipfile.ZipFile(packed) as files:
            if beside.name in files.namelist():
                text = files.read(beside.name).decode()
                tables.append((tomllib.loads(text), True))
    elif (FOLDERS[0] / TRIALS).exists():
        rows = stored_homework(FOLDERS[0] / TRIALS)["exercises"]
        tables.append(({n: rows[n] for n in sections if n in rows}, True))
    return tables


@cache
def stored_homework(file: Path) -> dict[str, Any]:
    """Read what notebooks fetch of homework: `packing.py` writes it."""
    import lzma  # some Pythons have none, and do without homework

    return dict(json.loads(lzma.decompress(file.read_bytes())))


def notebook_sections(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give of each exercise in a notebook its name, and with it its title,
    the solution that unfolds, and the cell of imports."""
    imports = CODE_CELL.findall(text)[1]
    for title, body in SECTION.findall(text):
        for name in CHECK.findall(body)[:1]:
            solution = "\n".join(SOLUTION.findall(body))
            yield name, (title.strip(), solution, imports)


def used_imports(imports: str, code: str) -> str:
    """Leave of a cell of imports those whose names stand in the code: what
    a notebook draws with may be missing where it is graded."""
    words, used = {*re.findall(r"\b(?<!\")\w+", code.replace("\\n", " "))}, []
    for line in ast.parse(imports).body:
        if isinstance(line, ast.Import | ast.ImportFrom):
            line.names = [a for a in line.names if {a.name, a.asname} & words]
            used += [ast.unparse(line)] * bool(line.names)
    return "\n".join(used)


def read_exercise(
    name: str, data: dict[str, Any], file: Path, sections: Mapping[str, Any]
) -> Exercise:
    """Read what a table says of an exercise.

    Raises ValueError for a key that means nothing, and for an exercise that
    has no section in the notebook.
    """
    if name not in sections:
        raise ValueError(
            f'{name}: no section of {file.name} calls check("{name}", …): '
            "write its statement there, or name it as the section does."
        )
    title, solution, imports = sections[name]
    data = {"title": title, "right": solution} | data | data.get("about", {})
    data["names"] = f"{used_imports(imports, str(data))}\n{data['names']}"
    data |= {"name": name, "chapter": int(file.name[:2]), "file": str(file)}
    data.pop("about", None)
    keys = {field.name for field in fields(Exercise)}
    if strange := {*data} - keys:
        raise ValueError(
            f"{name}: {', '.join(sorted(strange))}: an exercise has "
            f"{', '.join(sorted(keys))}."
        )
    if data.get("kind") not in KINDS:
        raise ValueError(
            f"{name}: kind = {data.get('kind')!r}: it is one of "
            f"{', '.join(KINDS)}."
        )
    return Exercise(**{key: frozen(value) for key, value in data.items()})


def frozen(value: Any) -> Any:
    """Make tuples of lists."""
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def exercise(name: str) -> Exercise:
    """Look an exercise up; ValueError for a name that is none."""
    if name not in exercises():
        near = get_close_matches(str(name), exercises(), cutoff=0)
        raise ValueError(
            f"{name=} is no exercise with a table; near are {', '.join(near)}."
        )
    return exercises()[name]
