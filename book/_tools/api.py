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


def public_entries() -> list[Entry]:
    """List the packages' names, then those that a room has beside them; in
    the order of files and lines."""
    entries = {}
    for home in homes():
        for name in public_names(home):
            place = definition(name, home)
            entries.setdefault((place, name), Entry(name, home, *place))
    return sorted(entries.values(), key=lambda e: (e.module, e.node.lineno))


def homes() -> list[str]:
    """List the modules that readers import from: the packages, rooms of the
    first, and the files with figures."""
    first, *_, last = PACKAGES  # as readers meet them
    rooms = sorted(file_of(first).parent.glob("*/__init__.py"))
    files = sorted(file_of(last).parent.glob("[a-z]*.py"))
    return [
        *PACKAGES,
        *(f"{first}.{face.parent.name}" for face in rooms),
        *(f"{last}.{file.stem}" for file in files),
    ]


def file_of(module: str) -> Path:
    """Find the file of a module."""
    package, *parts = module.split(".")
    stem = PACKAGES[package].joinpath(package, *parts)
    return stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")


@cache
def syntax_tree(module: str) -> ast.Module:
    """Parse a module."""
    return ast.parse(file_of(module).read_text("utf8"))


def public_names(module: str) -> list[str]:
    """Read a module's `__all__`; a module without one offers what it takes
    over whole from others, and one that has nothing but imports what it
    imports."""
    names: list[str] = []
    _, *body = syntax_tree(module).body
    if all(isinstance(node, ast.ImportFrom) for node in body):
        names = [name for node in body for name in bindings(node)]
        return [name for name in names if name != "*"]
    for node in statements(syntax_tree(module).body):
        if isinstance(node, ast.Assign) and "__all__" in bindings(node):
            return ast.literal_eval(node.value)
        if "*" in bindings(node):
            names += public_names(node.module)
    return names


def bindings(node: ast.stmt) -> dict[str, str]:
    """Map the names that a statement binds to what it takes them from."""
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return {node.name: node.name}
        case ast.Assign(targets=[ast.Name(id=name)]):
            return {name: name}
        case ast.ImportFrom():
            return {x.asname or x.name: x.name for x in node.names}
    return {}


def definition(name: str, module: str) -> tuple[str, ast.stmt] | None:
    """Follow a name through imports to its module and its statement, or to
    None where it comes from outside our packages."""
    for node in statements(syntax_tree(module).body):
        names = bindings(node)
        if "*" in names and name in public_names(node.module):
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


def docstring_of(entry: Entry) -> str:
    """Give a docstring; for a value, the comment above it."""
    if not isinstance(entry.node, ast.Assign):
        return ast.get_docstring(entry.node) or ""
    lines = file_of(entry.module).read_text("utf8").splitlines(keepends=True)
    above = "".join(lines[: entry.node.lineno - 1])
    comment = re.search(r"(?:^# (?!fmt:).*\n)*\Z", above, re.MULTILINE)
    return re.sub(r"(?m)^# ", "", comment[0])


def signature_text(entry: Entry) -> str:
    """Write how a name is called: (x: Tensor) -> Tensor, or nothing."""
    match entry.node:
        case ast.FunctionDef():
            return call_text(called_function(entry))
        case ast.ClassDef():
            family = list(ancestry(entry.module, entry.node))
            return next(filter(None, map(constructor_text, family)), "()")
    return ""


def call_text(function: ast.FunctionDef) -> str:
    """Write a function's parameters, self apart, and what it returns."""
    parameters = re.sub(r"^(self|cls)(, )?", "", code_text(function.args))
    returns = f" -> {code_text(function.returns)}" if function.returns else ""
    return f"({parameters}){returns}"


def code_text(node: ast.AST) -> str:
    """Write a piece of code as the house does, with double quotes."""
    return ast.unparse(node).replace("'", '"')


def called_function(entry: Entry) -> ast.FunctionDef:
    """Give the function that readers call: the one that a decorator of the
    packages puts in its place, or itself."""
    for decorator in entry.node.decorator_list:
        place = definition(code_text(decorator), entry.module)
        if place:
            inside = place[1].body
            return next(n for n in inside if isinstance(n, ast.FunctionDef))
    return entry.node


def ancestry(module: str, node: ast.ClassDef) -> Iterator[ast.ClassDef]:
    """Give a class, and those of ours that it descends from."""
    yield node
    for base in node.bases:
        place = definition(code_text(base), module)
        if place:
            yield from ancestry(*place)


def constructor_text(node: ast.ClassDef) -> str:
    """Write how a class is built by its __init__ or its fields; "" if it
    has neither."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return call_text(part).removesuffix(" -> None")
    kinds = " ".join(map(code_text, [*node.decorator_list, *node.bases]))
    if not re.search("dataclass|NamedTuple", kinds):
        return ""
    fields = [
        part
        for part in node.body
        if isinstance(part, ast.AnnAssign)
        if not code_text(part.annotation).startswith("ClassVar")
    ]
    names = ["*"] if "kw_only=True" in kinds else []
    return f"({', '.join(names + list(map(field_text, fields)))})"


def field_text(node: ast.AnnAssign) -> str:
    """Write a field as a parameter; field(default_factory=list) gives []."""
    text = f"{code_text(node.target)}: {code_text(node.annotation)}"
    if not isinstance(node.value, ast.Call):
        return f"{text} = {code_text(node.value)}" if node.value else text
    arguments = {
        word.arg: code_text(word.value) for word in node.value.keywords
    }
    factory = arguments.get("default_factory", "").replace("list", "[]")
    return f"{text} = {arguments.get('default', factory)}"


def public_methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """List a class's own methods and properties that have public names."""
    parts = [n for n in node.body if isinstance(n, ast.FunctionDef)]
    return [part for part in parts if not part.name.startswith("_")]
