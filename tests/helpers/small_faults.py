"""Small faults in an answer: one place of its syntax tree changed.

They are our own few, and need no library: the answers are short, and each
fault is tried at every place where it fits.
"""

import ast
import copy
import re
from collections.abc import Iterator

# What takes its arguments in any order; a list drawn by hand is data.
EITHER = re.compile(
    "transpose|max|min|maximum|minimum|logaddexp|dot|union|isclose"
)
SWAPS = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}


def faulty(code: str) -> list[tuple[str, str, str]]:
    """Give the code with each fault: the line before and after, and all."""
    tree = ast.parse(code)
    plain = ast.unparse(tree)
    found = {}
    for number, node in enumerate(ast.walk(tree)):
        for change in changes(node):
            new = copy.deepcopy(tree)
            target = next(
                x for i, x in enumerate(ast.walk(new)) if i == number
            )
            change(target)
            text = ast.unparse(ast.fix_missing_locations(new))
            if text != plain and text not in found:
                found[text] = (*lines_of(plain, text), text)
    return list(found.values())


def lines_of(before: str, after: str) -> tuple[str, str]:
    """The first line that differs, in both."""
    pairs = zip(before.splitlines(), after.splitlines())
    differ = ((a.strip(), b.strip()) for a, b in pairs if a != b)
    return next(differ, ("", ""))


def changes(node: ast.AST) -> Iterator:
    """What can be done to a node."""
    yield from (swapped(new) for new in swaps(node))
    match node:
        case ast.Constant(value=bool()):
            yield lambda n: setattr(n, "value", not n.value)
        case ast.Constant(value=int() | float()):
            yield lambda n: setattr(n, "value", n.value + 1)
            if node.value not in (0, 0.0):  # -1 is often the last of two
                yield lambda n: setattr(n, "value", n.value - 1)
        case ast.UnaryOp():
            yield lambda n: setattr(n, "op", ast.UAdd())
        case ast.Call(keywords=[_, *_]):
            for i in range(len(node.keywords)):
                yield lambda n, i=i: n.keywords.pop(i)
        case ast.Call(args=[_, _, *_]) if not EITHER.fullmatch(name_of(node)):
            yield lambda n: n.args.reverse()
        case ast.Subscript(slice=ast.Slice()):
            yield lambda n: setattr(n, "slice", ast.Slice())
        case ast.If() | ast.IfExp() | ast.While():
            yield lambda n: setattr(n, "test", ast.Constant(False))
        case ast.FunctionDef(body=[_, _, *_]):
            for i, line in enumerate(node.body):
                if not isinstance(line, ast.Return):
                    yield lambda n, i=i: n.body.pop(i)
    if isinstance(node, ast.If | ast.IfExp):
        yield lambda n: setattr(n, "test", ast.Constant(True))


def name_of(call: ast.Call) -> str:
    """The name of what is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def swaps(node: ast.AST) -> tuple:
    """The operators that could stand in the place of a node's."""
    op = getattr(node, "op", None)
    if isinstance(node, ast.Compare):
        op = node.ops[0]
    return SWAPS.get(type(op), ())


def swapped(new: type):
    """Put another operator into a node."""

    def change(node):
        if isinstance(node, ast.Compare):
            node.ops[0] = new()
        else:
            node.op = new()

    return change
