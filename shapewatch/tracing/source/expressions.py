"""What running code looks like in its source: a file, or a cell."""

import ast
import linecache
from collections.abc import Iterator
from functools import cache
from itertools import chain, takewhile
from types import CodeType, FrameType
from typing import Any

Span = tuple[int, int, int, int]
Function = ast.FunctionDef
RETURN = "return"  # no variable can be called so
Lines = tuple[str, ...]
# The variables that have a value: (), or which of its parts.
Targets = dict[str, tuple]
# What a notebook's cell may do, and what an earlier cell may have asked for.
AWAIT, ANNOTATIONS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, 0x1000000


def lines_of(code: CodeType) -> Lines:
    """Give the lines of the file, or cell, that code was written in.

    Gives () where they cannot be found, or are not what runs any more.
    """
    name = code.co_filename
    if name == "<string>":  # whatever was evaluated is called so
        return ()
    lines = tuple(linecache.getlines(name))
    return lines if is_written_in(lines, code) else ()


@cache
def is_written_in(lines: Lines, code: CodeType) -> bool:
    """Whether code is what some lines say, at the same places."""
    try:
        now = codes(compiled_code(lines, code.co_flags & ANNOTATIONS))
    except (SyntaxError, ValueError):
        return False
    if code.co_qualname == "<module>":  # a cell runs statement by statement
        return bool(lines)
    alike = [c for c in now if c.co_qualname == code.co_qualname]
    if content(code) in map(content, alike):
        return True
    # pytest writes functions with an assert anew, at the same places.
    first = code.co_firstlineno
    last = max(line or 0 for *_, line in code.co_lines())
    return any(c.co_firstlineno == first for c in alike) and any(
        isinstance(node, ast.Assert) and first <= node.lineno <= last
        for node in ast.walk(tree_of(lines))
    )


@cache
def tree_of(lines: Lines) -> ast.Module:
    """Parse a file."""
    return ast.parse("".join(lines))


@cache
def compiled_code(lines: Lines, flags: int) -> CodeType:
    """Compile a file."""
    return compile(tree_of(lines), "", "exec", flags | AWAIT, True)


def codes(code: CodeType) -> Iterator[CodeType]:
    """Give a piece of code, and all that is defined in it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from codes(part)


def content(code: CodeType) -> list[tuple]:
    """What code, and all that is defined in it, does at which places."""
    return [(c.co_code, c.co_names, *c.co_positions()) for c in codes(code)]


@cache
def span(code: CodeType, at: int) -> Span | None:
    """Where the instruction at offset `at` was written: first line, last
    line, first and last column (in bytes); None when that is not known."""
    match list(code.co_positions())[at // 2]:
        case int(first), int(last), int(start), int(end):
            return first, last, start, end
    return None


def passage(code: CodeType, at: int) -> ast.expr | None:
    """Read the expression that an instruction evaluates; None where the
    source cannot be found, or has changed."""
    at_span = span(code, at)
    return expression_at(lines_of(code), at_span) if at_span else None


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
    node = passage(code, at)
    return "" if node is None else text_of(node)


def condition(code: CodeType, at: int) -> str:
    """Write what an `if`, `while` or `assert` asks at an instruction, or "";
    Python 3.11 says of it where the whole statement is."""
    asks, at_span = ast.If | ast.While | ast.IfExp | ast.Assert, span(code, at)
    nodes = ast.walk(tree_of(lines_of(code)))
    asking = (node for node in nodes if isinstance(node, asks))
    tests = {s: n.test for n in asking for s in (span_of(n), span_of(n.test))}
    return text_of(tests[at_span]) if at_span in tests else ""


def line_text(variable: str, expression: str) -> str:
    """Write a line: q = self.query(x); where nothing is bound, without."""
    return f"{variable} = {expression}" if variable else expression


@cache
def assignments(lines: Lines) -> dict[Span | None, Targets]:
    """List what a file binds, by where the value is written."""
    bound: dict[Span | None, Targets] = {}
    for node in ast.walk(tree_of(lines)):
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        value = getattr(node, "value", None)
        names = target_paths(targets[0]) if len(targets) == 1 else {}
        if isinstance(node, ast.Return):
            names = {RETURN: ()}
        if names and value:
            match value:
                case _ if isinstance(node, ast.AugAssign):
                    value = node
                case ast.Subscript(ast.Call() as call, ast.Constant(key)):
                    bound[span_of(call)] = inner_paths(names, key)
                case ast.Attribute(ast.Call() as call, key):
                    bound[span_of(call)] = inner_paths(names, key)
            bound[span_of(value)] = names
    return bound


def target_paths(target: ast.AST | None, path: tuple = ()) -> Targets:
    """Name what a target binds: a, (b, c) = f() binds parts of a value."""
    match target:
        case ast.Name(name):
            return {name: path}
        case ast.Tuple(parts) | ast.List(parts):
            plain = takewhile(lambda x: not isinstance(x, ast.Starred), parts)
            paths = (target_paths(x, (*path, i)) for i, x in enumerate(plain))
            return dict(chain.from_iterable(x.items() for x in paths))
    return {}


def inner_paths(names: Targets, key: Any) -> Targets:
    """Say which part of a call's value variables are that have one of it."""
    return {name: (key, *path) for name, path in names.items()}


def span_of(node: ast.expr | ast.stmt) -> Span:
    """Where a piece of source stands, as `span` says it."""
    end = node.end_col_offset or 0
    return node.lineno, last_line(node), node.col_offset, end


def last_line(node: ast.expr | ast.stmt | ast.arg) -> int:
    """The last line of a piece of source."""
    return node.end_lineno or node.lineno


def run_span(node: ast.expr | ast.stmt) -> Span:
    """Where Python says that an expression runs: of a chain of attributes
    over several lines, only the last name and what follows it."""
    name = node.func if isinstance(node, ast.Call) else node
    first, last, start, end = span_of(node)
    if isinstance(name, ast.Attribute) and name.lineno != name.end_lineno:
        first, start = last_line(name), name.end_col_offset or 0
        start -= len(name.attr.encode())
    return first, last, start, end


def variable(code: CodeType, at: int) -> str:
    """Name the variable that an instruction's value is bound to, or ""."""
    targets = line_targets(code, at).items()
    return next((x for x, path in targets if not path and x != RETURN), "")


def line_targets(code: CodeType, at: int) -> Targets:
    """Tell what an instruction's value is bound to; RETURN is for what a
    function gives."""
    return assignments(lines_of(code)).get(span(code, at), {})


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
    """Find where a function is defined, with its places in the whole file;
    None where its source cannot be found, or is not what was run."""
    definitions = [
        node
        for node in functions(lines_of(code))
        if node.name == code.co_name
        and first_line(node) == code.co_firstlineno
    ]
    return definitions[0] if len(definitions) == 1 else None


@cache
def functions(lines: Lines) -> list[Function]:
    """List the functions that a file defines."""
    return [n for n in ast.walk(tree_of(lines)) if isinstance(n, Function)]


def first_line(node: Function) -> int:
    """The first line of a definition, decorators included."""
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Give all that a function consists of, but what it defines itself."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function | ast.Lambda | ast.ClassDef):
            yield child
            yield from walk(child)
