"""Signatures of several lines on one, if it fits."""

import ast
import re
from collections.abc import Sequence

from shapewatch.tracing.source import expressions as source

SIGNATURE_WIDTH = 76
EDGES = re.compile(r"(?<=[(\[{]) |,? (?=[)\]}])")


def signature(
    node: source.Function, lines: Sequence[str]
) -> tuple[range, str]:
    """Give the lines of a signature, and what to write instead: it on one
    line, if it must be without its types, which the shapes beside it tell;
    or "" where it stands on one line, or would not fit.

    `lines` begin with line 1 at index 1.
    """
    rows = signature_rows(node, lines)
    written = [lines[i].strip() for i in rows]
    if len(rows) < 2 or any("#" in line for line in written):
        return rows, ""
    one = EDGES.sub("", " ".join(written))
    for text in (one, without_types(one)):
        if len(text) <= SIGNATURE_WIDTH and same_call(
            text, "\n".join(written)
        ):
            return rows, text
    return rows, ""


def signature_rows(node: source.Function, lines: Sequence[str]) -> range:
    """The lines from `def` to the colon; none of a lambda."""
    if isinstance(node, ast.Lambda):
        return range(0)
    for end in range(node.lineno, node.body[0].lineno):
        if parse_signature("\n".join(lines[node.lineno : end + 1]).strip()):
            return range(node.lineno, end + 1)
    return range(0)


def parse_signature(
    text: str,
) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Read a signature; None where it is not whole."""
    try:
        (node,) = ast.parse(f"{text} pass").body
    except SyntaxError:
        return None
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return node
    return None


def typed_arguments(text: str) -> list[ast.arg]:
    """List the arguments of a signature that have a type, the last first."""
    nodes = ast.walk(parse_signature(text) or ast.Pass())
    found = [n for n in nodes if isinstance(n, ast.arg) and n.annotation]
    return sorted(found, key=lambda argument: -argument.col_offset)


def without_types(text: str) -> str:
    """Leave the types of the arguments out of a signature on one line."""
    found = text.encode()
    for one in typed_arguments(text):
        end = one.annotation.end_col_offset if one.annotation else 0
        rest = re.sub(rb"^ = ", b"=", found[end:])
        found = found[: one.col_offset] + one.arg.encode() + rest
    return found.decode()


def same_call(text: str, whole: str) -> bool:
    """Whether two signatures differ in the types of arguments alone."""
    dumps = []
    for node in (parse_signature(text), parse_signature(whole)):
        for one in ast.walk(node or ast.Pass()):
            if isinstance(one, ast.arg):
                one.annotation = None
        dumps.append(node and ast.dump(node))
    return dumps[0] is not None and dumps[0] == dumps[1]
