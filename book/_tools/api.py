"""Find what our packages offer in their files, without importing them.

The book is built where there is no torch, so its reference comes from the
syntax trees: the names, what defines each, and how it is called.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packages import PACKAGES, WITH_ROOMS


@dataclass(frozen=True)
class Entry:
    """A public name: where readers import it from, and what defines it."""

    name: str
    home: str
    module: str
    node: ast.stmt

    @property
    def room(self) -> str:
        """The room that the definition stands in: a folder of the first two
        packages, or one of the others whole."""
        package, place = self.module.split(".")[:2]
        return place if package in WITH_ROOMS else package


def entries() -> list[Entry]:
    """List the packages' names, then those that a room has beside them; in
    the order of files and lines."""
    found = {}
    for home in homes():
        for name in offered(home):
            place = definition(name, home)
            found.setdefault((place, name), Entry(name, home, *place))
    return sorted(found.values(), key=lambda e: (e.module, e.node.lineno))


def homes() -> list[str]:
    """List the modules that readers import from: the packages, rooms of the
    first, and the files with figures."""
    first, *_, last = PACKAGES  # as readers meet them
    rooms = sorted(path(first).parent.glob("*/__init__.py"))
    files = sorted(path(last).parent.glob("[a-z]*.py"))
    within = [f"{first}.{face.parent.name}" for face in rooms]
    return [*PACKAGES, *within, *(f"{last}.{file.stem}" for file in files)]


def path(module: str) -> Path:
    """Find the file of a module."""
    package, *parts = module.split(".")
    stem = PACKAGES[package].joinpath(package, *parts)
    return stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")


@cache
def tree(module: str) -> ast.Module:
    """Parse a module."""
    return ast.parse(path(module).read_text("utf8"))


def offered(module: str) -> list[str]:
    """Read a module's `__all__`; a module without one offers what it takes
    over whole from others."""
    whole = []
    for node in statements(tree(module).body):
        if isinstance(node, ast.Assign) and "__all__" in bound(node):
            return ast.literal_eval(node.value)
        if "*" in bound(node):
            whole += offered(node.module)
    return whole


def bound(node: ast.stmt) -> dict[str, str]:
    """Map the names that a statement binds to what it takes them from."""
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return {node.name: node.name}
        case ast.Assign(targets=[ast.Name(id=name)]):
            return {name: name}
        case ast.ImportFrom():
            return {
                alias.asname or alias.name: alias.name for alias in node.names
            }
    return {}


def definition(name: str, module: str) -> tuple[str, ast.stmt] | None:
    """Follow a name through imports to its module and its statement, or to
    None where it comes from outside our packages."""
    for node in statements(tree(module).body):
        names = bound(node)
        if "*" in names and name in offered(node.module):
            return definition(name, node.module)
        if name in names:
            if not isinstance(node, ast.ImportFrom):
                return module, node
            if node.module.split(".")[0] in PACKAGES:
                return definition(names[name], node.module)
    return None


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Go through statements, and those for type checkers alone."""
    for node in body:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from node.body
            case _:
                yield node


def docstring(entry: Entry) -> str:
    """Give a docstring; for a value, the comment above it."""
    if not isinstance(entry.node, ast.Assign):
        return ast.get_docstring(entry.node) or ""
    lines = path(entry.module).read_text("utf8").splitlines(keepends=True)
    above = "".join(lines[: entry.node.lineno - 1])
    comment = re.search(r"(?:^# (?!fmt:).*\n)*\Z", above, re.MULTILINE)
    return re.sub(r"(?m)^# ", "", comment[0])


def signature(entry: Entry) -> str:
    """Write how a name is called: (x: Tensor) -> Tensor, or nothing."""
    match entry.node:
        case ast.FunctionDef():
            return call(decorated(entry))
        case ast.ClassDef():
            family = list(lineage(entry.module, entry.node))
            return next(filter(None, map(building, family)), "()")
    return ""


def call(function: ast.FunctionDef) -> str:
    """Write a function's parameters, self apart, and what it returns."""
    parameters = re.sub(r"^(self|cls)(, )?", "", code(function.args))
    returns = f" -> {code(function.returns)}" if function.returns else ""
    return f"({parameters}){returns}"


def code(node: ast.AST) -> str:
    """Write a piece of code as the house does, with double quotes."""
    return ast.unparse(node).replace("'", '"')


def decorated(entry: Entry) -> ast.FunctionDef:
    """Give the function that readers call: the one that a decorator of the
    packages puts in its place, or itself."""
    for decorator in entry.node.decorator_list:
        place = definition(code(decorator), entry.module)
        if place:
            inside = place[1].body
            return next(n for n in inside if isinstance(n, ast.FunctionDef))
    return entry.node


def lineage(module: str, node: ast.ClassDef) -> Iterator[ast.ClassDef]:
    """Give a class, and those of ours that it descends from."""
    yield node
    for base in node.bases:
        place = definition(code(base), module)
        if place:
            yield from lineage(*place)


def building(node: ast.ClassDef) -> str:
    """Write how a class is built by its __init__ or its fields; "" if it
    has neither."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return call(part).removesuffix(" -> None")
    made = " ".join(map(code, [*node.decorator_list, *node.bases]))
    if not re.search("dataclass|NamedTuple", made):
        return ""
    fields = [
        part
        for part in node.body
        if isinstance(part, ast.AnnAssign)
        if not code(part.annotation).startswith("ClassVar")
    ]
    names = ["*"] if "kw_only=True" in made else []
    return f"({', '.join(names + list(map(field, fields)))})"


def field(node: ast.AnnAssign) -> str:
    """Write a field as a parameter, with its default."""
    return code(node.target) + f": {code(node.annotation)}" + default(node)


def default(node: ast.AnnAssign) -> str:
    """Write a field's default; that of field(default_factory=list) is []."""
    if not isinstance(node.value, ast.Call):
        return f" = {code(node.value)}" if node.value else ""
    given = {word.arg: code(word.value) for word in node.value.keywords}
    made = given.get("default_factory", "").replace("list", "[]")
    return f" = {given.get('default', made)}"


def methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """List a class's own methods and properties that have public names."""
    parts = [n for n in node.body if isinstance(n, ast.FunctionDef)]
    return [part for part in parts if not part.name.startswith("_")]
