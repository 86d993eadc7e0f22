"""Lines: the text that running code was written in, a file's or a cell's."""

import ast
import linecache
import sys
from collections.abc import Iterator
from functools import cache
from types import CodeType
from typing import Any

Lines = tuple[str, ...]
# What a notebook's cell may do, and what an earlier cell may have asked for.
AWAIT, ANNOTATIONS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, 0x1000000


def lines_of(code: CodeType) -> Lines:
    """Give the lines of the file, or cell, that code was written in.

    Gives () where they cannot be found, or are not what runs any more.
    """
    name = code.co_filename
    if name == "<string>":  # whatever was evaluated is called so
        return ()
    texts = timed_cells() if name.startswith("<timed ") else [getlines(name)]
    return next((lines for lines in texts if is_written_in(lines, code)), ())


def getlines(name: str) -> Lines:
    """Read a file, or a cell, once."""
    return tuple(linecache.getlines(name))


def timed_cells() -> Iterator[Lines]:
    """Give what stands under %%time in this session's cells, the last first:
    IPython runs it without keeping its lines."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython else None
    cells = shell.history_manager.input_hist_raw if shell else []
    for cell in reversed(cells):
        magic, _, body = cell.lstrip().partition("\n")
        if magic.startswith("%%time"):
            lines = shell.transform_cell(body).split("\n")
            yield tuple(f"{line}\n" for line in lines)


@cache
def is_written_in(lines: Lines, code: CodeType) -> bool:
    """Whether code is what some lines say, at the same places."""
    try:
        tree = tree_of(lines)
        now = codes(compiled_code(lines, code.co_flags & ANNOTATIONS))
    except (SyntaxError, ValueError):
        return False
    if code.co_qualname == "<module>":  # a cell runs statement by statement
        return bool(lines)
    alike = [c for c in now if c.co_qualname == code.co_qualname]
    if any(same(code, c) for c in alike):
        return True
    # pytest writes functions with an assert anew, at the same places.
    last = max(line or 0 for *_, line in code.co_lines())
    return any(c.co_firstlineno == code.co_firstlineno for c in alike) and any(
        isinstance(node, ast.Assert)
        and code.co_firstlineno <= node.lineno <= last
        for node in ast.walk(tree)
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


def same(one: CodeType, other: CodeType) -> bool:
    """Whether two pieces of code do the same at the same places."""
    return one.co_qualname == other.co_qualname and all(
        (a.co_code, a.co_names, [*a.co_positions()])
        == (b.co_code, b.co_names, [*b.co_positions()])
        for a, b in zip(codes(one), codes(other))
    )
