"""What running code looks like in its source."""

import ast
import linecache
from collections.abc import Iterator
from functools import cache
from types import CodeType, FrameType

from tformer_lite.tracing.source.lines import Lines, lines_of, tree_of

Span = tuple[int, int, int, int]
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
RETURN = "return"  # no variable can be called so


@cache
def span(code: CodeType, at: int) -> Span | None:
    """Where the instruction at offset `at` was written: first line, last
    line, first and last column (in bytes); None when that is not known."""
    first, last, start, end = list(code.co_positions())[at // 2]
    if first is None or last is None or start is None or end is None:
        return None
    return first, last, start, end


def passage(code: CodeType, at: int) -> ast.expr | None:
    """Read the expression that an instruction evaluates, as it is written.

    Gives None where the source cannot be found, or has changed.
    """
    at_span, lines = span(code, at), lines_of(code)
    return expression_at(lines, at_span) if at_span and lines else None


@cache
def expression_at(lines: Lines, at_span: Span) -> ast.expr | None:
    """Read the expression that stands at some lines and columns."""
    first, last, start, end = at_span
    chosen = [line.encode() for line in lines[first - 1 : last]]
    if not chosen:
        return None
    chosen[-1] = chosen[-1][:end]
    chosen[0] = chosen[0][start:]
    try:
        return ast.parse(b"".join(chosen).strip(), mode="eval").body
    except (SyntaxError, ValueError):  # it is a statement, not an expression
        return None


text_of = cache(ast.unparse)


def expression(code: CodeType, at: int) -> str:
    """Write the expression of an instruction on one line, or ""."""
    found = passage(code, at)
    return "" if found is None else text_of(found)


def line_text(variable: str, expression: str) -> str:
    """Write a line: q = self.query(x); where nothing is bound, without."""
    return f"{variable} = {expression}" if variable else expression


@cache
def assignments(lines: Lines) -> dict[Span, str]:
    """List the names that a file binds, by where the value is written."""
    found = {}
    for node in ast.walk(tree_of(lines)):
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        value = getattr(node, "value", None)
        if len(targets) == 1 and isinstance(targets[0], ast.Name) and value:
            if isinstance(node, ast.AugAssign):
                value = node
            found[span_of(value)] = targets[0].id
        elif isinstance(node, ast.Return) and value:
            found[span_of(value)] = RETURN
    return found


def span_of(node: ast.expr | ast.stmt) -> Span:
    """Where a piece of source stands, as `span` says it."""
    last, end = end_of(node)
    return node.lineno, last, node.col_offset, end


def end_of(node: ast.expr | ast.stmt | ast.arg) -> tuple[int, int]:
    """Where a piece of source ends: its last line, and the column there.
    Python leaves it open, for trees that nobody wrote."""
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def run_span(node: ast.expr | ast.stmt) -> Span:
    """Where Python says that an expression runs: of a chain of attributes
    over several lines, only the last name and what follows it."""
    name = node.func if isinstance(node, ast.Call) else node
    if isinstance(name, ast.Attribute) and name.lineno != name.end_lineno:
        (line, column), (last, end) = end_of(name), end_of(node)
        return line, last, column - len(name.attr.encode()), end
    return span_of(node)


def variable(code: CodeType, at: int) -> str:
    """Name the variable that an instruction's value is bound to, or ""."""
    name = target(code, at)
    return "" if name == RETURN else name


def is_returned(code: CodeType, at: int) -> bool:
    """Whether an instruction's value is what its function returns."""
    return target(code, at) == RETURN


def target(code: CodeType, at: int) -> str:
    """Tell where an instruction's value goes: to a variable, RETURN, or ""."""
    at_span = span(code, at)
    return assignments(lines_of(code)).get(at_span, "") if at_span else ""


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


def definition(code: CodeType) -> Function | None:
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


@cache
def functions(lines: Lines) -> list[Function]:
    """List the functions that a file defines."""
    return [n for n in ast.walk(tree_of(lines)) if isinstance(n, Function)]


def first_line(node: Function) -> int:
    """The first line of a definition, decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Give all that a function consists of, but what it defines itself."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function | ast.ClassDef):
            yield child
            yield from walk(child)
