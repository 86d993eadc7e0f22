"""What running code looks like in its source."""

import ast
import linecache
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
