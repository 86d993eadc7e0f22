"""What running code looks like in its source."""

import ast
import linecache
from collections.abc import Iterator
from functools import cache
from types import CodeType, FrameType

Span = tuple[int, int, int, int]


def span(code: CodeType, at: int) -> Span | None:
    """Where the instruction at offset `at` was written: first line, last
    line, first and last column (in bytes); None when that is not known."""
    found = list(code.co_positions())[at // 2]
    return None if None in found else found


def passage(
    code: CodeType, at: int, module_globals: dict | None = None
) -> ast.expr | None:
    """Read the expression that an instruction evaluates, as it is written.

    Gives None where the source cannot be found, or has changed.
    """
    where = span(code, at)
    lines = linecache.getlines(code.co_filename, module_globals)
    # Whatever was evaluated from a string is called <string>.
    if where is None or not lines or code.co_filename == "<string>":
        return None
    first, last, start, end = where
    chosen = [line.encode() for line in lines[first - 1 : last]]
    if not chosen:
        return None
    chosen[-1] = chosen[-1][:end]
    chosen[0] = chosen[0][start:]
    try:
        return ast.parse(b"".join(chosen).strip(), mode="eval").body
    except (SyntaxError, ValueError):  # not what is running any more
        return None


@cache
def expression(code: CodeType, at: int) -> str:
    """Write the expression of an instruction on one line, or ""."""
    found = passage(code, at)
    return "" if found is None else ast.unparse(found)


@cache
def assignments(filename: str, lines: tuple[str, ...]) -> dict[Span, str]:
    """List the names that a file binds, by where the value is written."""
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return {}
    found = {}
    for node in ast.walk(tree):
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        value = getattr(node, "value", None)
        if len(targets) == 1 and isinstance(targets[0], ast.Name) and value:
            if isinstance(node, ast.AugAssign):
                value = node
            found[place(value)] = targets[0].id
    return found


def place(node: ast.AST) -> Span:
    """Where a piece of source stands, as `span` says it."""
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def run_place(node: ast.AST) -> Span:
    """Where Python says that an expression runs: of a chain of attributes
    over several lines, only the last name and what follows it."""
    name = node.func if isinstance(node, ast.Call) else node
    if isinstance(name, ast.Attribute) and name.lineno != name.end_lineno:
        start = name.end_col_offset - len(name.attr.encode())
        return name.end_lineno, node.end_lineno, start, node.end_col_offset
    return place(node)


@cache
def variable(code: CodeType, at: int) -> str:
    """Name the variable that an instruction's value is bound to, or ""."""
    lines = tuple(linecache.getlines(code.co_filename))
    return assignments(code.co_filename, lines).get(span(code, at), "")


def argument_texts(caller: FrameType) -> list[str]:
    """Write the positional arguments of the call in progress, as written.

    `caller` is the frame that makes the call. Gives [] where its source
    cannot be found, or when an argument is starred.
    """
    call = passage(caller.f_code, caller.f_lasti, caller.f_globals)
    arguments = call.args if isinstance(call, ast.Call) else []
    if any(isinstance(argument, ast.Starred) for argument in arguments):
        return []
    return [ast.unparse(argument) for argument in arguments]


def definition(code: CodeType) -> ast.FunctionDef | ast.Lambda | None:
    """Find where a function is defined, with its places in the whole file.

    Gives None where the source cannot be found, or is not what was run.
    """
    lines = tuple(linecache.getlines(code.co_filename))
    known = lines and code.co_filename != "<string>"
    return defined(code, lines) if known else None


@cache
def defined(code: CodeType, lines: tuple[str, ...]):
    """Find a function among the lines of its file."""
    try:
        tree = ast.parse("".join(lines))
        now = list(codes(compile(tree, code.co_filename, "exec")))
    except (SyntaxError, ValueError):
        return None
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS)
        and getattr(node, "name", "<lambda>") == code.co_name
        and first_line(node) == code.co_firstlineno
    ]
    if len(found) != 1:
        return None
    # pytest writes assert statements anew.
    checked = any(isinstance(node, ast.Assert) for node in ast.walk(found[0]))
    return found[0] if checked or any(same(code, c) for c in now) else None


FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda


def first_line(node: ast.AST) -> int:
    """The first line of a definition, decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def codes(code: CodeType) -> Iterator[CodeType]:
    """Give a piece of code, and all that is defined in it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from codes(part)


def same(one: CodeType, other: CodeType) -> bool:
    """Whether two pieces of code do the same at the same places."""
    return one.co_qualname == other.co_qualname and all(
        (a.co_code, a.co_names, [*a.co_positions()])
        == (b.co_code, b.co_names, [*b.co_positions()])
        for a, b in zip(codes(one), codes(other))
    )
