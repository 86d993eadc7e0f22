"""What running code looks like in its source."""

import ast
import linecache
from collections.abc import Iterator
from functools import cache
from types import CodeType, FrameType

from tformer_lite.tracing.source.lines import Lines, lines_of, parsed

Span = tuple[int, int, int, int]
RETURN = "return"  # no variable can be called so


@cache
def span(code: CodeType, at: int) -> Span | None:
    """Where the instruction at offset `at` was written: first line, last
    line, first and last column (in bytes); None when that is not known."""
    found = list(code.co_positions())[at // 2]
    return None if None in found else found


def passage(code: CodeType, at: int) -> ast.expr | None:
    """Read the expression that an instruction evaluates, as it is written.

    Gives None where the source cannot be found, or has changed.
    """
    where, lines = span(code, at), lines_of(code)
    return read(lines, where) if where and lines else None


@cache
def read(lines: Lines, where: Span) -> ast.expr | None:
    """Read the expression at a place."""
    first, last, start, end = where
    chosen = [line.encode() for line in lines[first - 1 : last]]
    if not chosen:
        return None
    chosen[-1] = chosen[-1][:end]
    chosen[0] = chosen[0][start:]
    try:
        return ast.parse(b"".join(chosen).strip(), mode="eval").body
    except (SyntaxError, ValueError):  # it is a statement, not an expression
        return None


written = cache(ast.unparse)


def expression(code: CodeType, at: int) -> str:
    """Write the expression of an instruction on one line, or ""."""
    found = passage(code, at)
    return "" if found is None else written(found)


@cache
def assignments(lines: Lines) -> dict[Span, str]:
    """List the names that a file binds, by where the value is written."""
    found = {}
    for node in ast.walk(parsed(lines)):
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        value = getattr(node, "value", None)
        if len(targets) == 1 and isinstance(targets[0], ast.Name) and value:
            if isinstance(node, ast.AugAssign):
                value = node
            found[place(value)] = targets[0].id
        elif isinstance(node, ast.Return) and value:
            found[place(value)] = RETURN
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


def variable(code: CodeType, at: int) -> str:
    """Name the variable that an instruction's value is bound to, or ""."""
    name = assignments(lines_of(code)).get(span(code, at), "")
    return "" if name == RETURN else name


def returned(code: CodeType, at: int) -> bool:
    """Whether an instruction's value is what its function returns."""
    return assignments(lines_of(code)).get(span(code, at)) == RETURN


def argument_texts(caller: FrameType) -> list[str]:
    """Write the positional arguments of the call in progress, as written.

    `caller` is the frame that makes the call. Gives [] where its source
    cannot be found, or when an argument is starred.
    """
    code = caller.f_code
    linecache.lazycache(code.co_filename, caller.f_globals)
    call = passage(code, caller.f_lasti)
    arguments = call.args if isinstance(call, ast.Call) else []
    if any(isinstance(argument, ast.Starred) for argument in arguments):
        return []
    return [ast.unparse(argument) for argument in arguments]


def definition(code: CodeType) -> ast.FunctionDef | ast.Lambda | None:
    """Find where a function is defined, with its places in the whole file.

    Gives None where the source cannot be found, or is not what was run.
    """
    found = [
        node
        for node in functions(lines_of(code))
        if getattr(node, "name", "<lambda>") == code.co_name
        and first_line(node) == code.co_firstlineno
    ]
    return found[0] if len(found) == 1 else None


FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda


@cache
def functions(lines: Lines) -> list[ast.AST]:
    """List the functions that a file defines."""
    return [n for n in ast.walk(parsed(lines)) if isinstance(n, FUNCTIONS)]


def first_line(node: ast.AST) -> int:
    """The first line of a definition, decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Give all that a function consists of, but what it defines itself."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            yield child
            yield from walk(child)
