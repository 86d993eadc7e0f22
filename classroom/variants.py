"""Variants of right code, each with one small change, and what is changed, in
a few letters of the code."""

import ast
import copy
import re
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from typing import Any

# A node, the code that stands in its place, and what is said of that.
Change = tuple[Any, str, str]

# What takes its arguments in any order; a list drawn by hand is data.
EITHER = re.compile("transpose|(max|min)(imum)?|logaddexp|dot|union|isclose")
SAMPLE = re.compile("manual_seed|randn")
# An operator, and those that could stand in its place.
OPERATORS = """
Add Sub, Sub Add, Mult Div, Div Mult, FloorDiv Mult, Mod FloorDiv, Pow Mult,
MatMult Mult, BitAnd BitOr, BitOr BitAnd, Lt LtE Gt, LtE Lt GtE, Gt GtE Lt,
GtE Gt LtE, Eq NotEq, NotEq Eq, And Or, Or And, In NotIn, NotIn In"""
SWAPS = {
    getattr(ast, op): tuple(getattr(ast, other) for other in others)
    for op, *others in map(str.split, OPERATORS.split(","))
}
ORDERS = ast.Lt, ast.Gt, ast.NotEq, ast.Eq
# Functions that are taken for each other.
NEIGHBOURS = """sin cos, sum mean amax amin, max min, argmax argmin, any all,
cumsum sum, softmax sigmoid, softmax log_softmax, tanh sigmoid, sqrt rsqrt,
tril triu, floor round ceil, log log2 log10, abs square, zeros ones, norm sum,
exp log1p, cat stack"""
PAIRS = [group.split() for group in NEIGHBOURS.split(",")]
# What is called: what is called instead, and what is said of that.
SLIPS = """
transpose permute; ({x}).reshape(({all}).shape); with `reshape` for a transpose
join_heads; ({x}).reshape(({all}).shape); with `reshape` for a transpose
mean; {all} - ({plain}) ** 2; with a variance instead of a mean square
repeat_interleave; torch.cat([{x}] * ({a}), {z}); with `repeat`: ABAB, not AABB
masked_fill; ({x}).masked_fill({a}, -1e9); with -1e9 where it hides
masked_fill; ({x}).masked_fill({a}, -1e4); with -10000 where it hides
masked_fill; ({x}).masked_fill({a}, 0); with 0 where it hides
mean; {all} * ({x}).shape[{a}] / (({x}).shape[{a}] - 1); with n - 1 in a mean
mean; ({x}).mean(); with a mean over everything
softmax; torch.softmax({x}, -2); with a softmax along axis -2
arange; 1 + {all}; with counting from 1
silu activation; F.sigmoid({x}); with `sigmoid` as the activation
silu activation; F.gelu({x}); with `gelu` as the activation
gelu activation; F.silu({x}); with `silu` as the activation
silu gelu activation; F.relu({x}); with `relu` as the activation"""
RULES = [line.split("; ") for line in SLIPS.strip().split("\n")]
LIBRARIES = "torch", "math", "F", "nn", "self"
PLACES = "0", "1", "2", "3", "-1", "-2", "-3"
EVERYWHERE = ", everywhere"
TOKEN = re.compile(r"\s*(?:\w[\w.]*|-\d+|\*\*|//|[<>=!]=|\S)")
SHORT = 14  # letters of code that are shown whole


def variants(
    code: str, changes: Callable[[Any], Iterator[Change]]
) -> Iterator[tuple[str, str]]:
    """Give the code with each change, and with all of which the same is said.
    What chooses a random sample stays, as another one would do."""
    plain, sample = ast.unparse(ast.parse(code)), set[ast.AST]()
    together: dict[str, list[tuple[int, int, str]]] = {}
    starts = [0, *(m.end() for m in re.finditer(b"\n", plain.encode()))]
    for node in ast.walk(ast.parse(plain)):
        if SAMPLE.fullmatch(name_of(node)):
            sample |= {*ast.walk(node)}
        for at, new, says in () if node in sample else changes(node):
            first = starts[at.lineno - 1] + at.col_offset
            last = starts[at.end_lineno - 1] + at.end_col_offset
            text = f"({new})" if isinstance(at, ast.expr) else new
            together.setdefault(says, []).append((first, last, text))
    seen = {plain}
    for says, edits in together.items():
        for some in [*([edit] for edit in edits), edits]:
            text = edited_text(plain.encode(), some)
            if text and text not in seen:
                seen.add(text)
                yield text, says + EVERYWHERE * (some is edits)


def edited_text(source: bytes, edits: list[tuple[int, int, str]]) -> str:
    """Write edits into code: "" where two overlap, or it is none any more."""
    edits = sorted(edits, reverse=True)
    if any(later[0] < edit[1] for later, edit in pairwise(edits)):
        return ""
    for first, last, new in edits:
        source = source[:first] + new.encode() + source[last:]
    try:
        text = ast.unparse(ast.parse(source))
    except SyntaxError:
        return ""
    return re.sub(r"\n +pass\b", "", text)


def name_of(node: Any) -> str:
    """Name what is called, where something is."""
    func = getattr(node, "func", None)
    return getattr(func, "attr", getattr(func, "id", ""))


def instead(node: Any, new: Any) -> Change:
    """Put code in the place of a node, and say so: what both begin and end
    with is left out, and what stands in long brackets."""
    new = new if isinstance(new, str) else ast.unparse(new)
    parts = [TOKEN.findall(text) for text in (ast.unparse(node), new)]
    for _ in range(2):
        ends = (n for n, (a, b) in enumerate(zip(*parts)) if a != b)
        same = next(ends, min(map(len, parts)))
        parts = [part[same:][::-1] for part in parts]
    before, after = (shown("".join(part)) for part in parts)
    says = f"with `{after}` instead of `{before}`"
    if not before or not after:
        says = f"with `{after}` added" if after else f"without `{before}`"
    return node, new, says


def shown(text: str) -> str:
    """Write a piece of code, and of a long one what is outside brackets."""
    text = text.strip(", ")
    return re.sub(r"\(.*\)", "(…)", text) if len(text) > SHORT else text


def faults(node: Any) -> Iterator[Change]:
    """List the smallest changes of a node: a test asks that each shows."""
    for new in swaps(node):
        yield instead(node, new)
    match node:
        case ast.Constant(value=bool(x)):
            yield instead(node, f"{not x}")
        case ast.Constant(value=int(x) | float(x)):
            for n in (x + 1, x - 1)[: 1 + bool(x)]:  # -1 is often the last
                yield instead(node, f"{n}")
        case ast.UnaryOp(operand=ast.Constant(value=int())):
            pass  # an axis, whose number changes
        case ast.UnaryOp(operand=operand):
            yield node, f"+({ast.unparse(operand)})", "without a sign"
        case ast.Call(func, args, [_, *_] as words):
            for i in range(len(words)):
                rest = words[:i] + words[i + 1 :]
                yield instead(node, ast.Call(func, args, rest))
        case ast.Call(func, [_, _, *_] as args, words):
            if not EITHER.fullmatch(name_of(node)):
                yield instead(node, ast.Call(func, args[::-1], words))
        case ast.Subscript(value, ast.Slice()):
            yield instead(node, f"{ast.unparse(value)}[:]")
        case ast.If() | ast.IfExp() | ast.While() | ast.FunctionDef():
            yield from step_faults(node)


def step_faults(node: Any) -> Iterator[Change]:
    """List the smallest changes of a condition, and of a function's lines."""
    if not isinstance(node, ast.FunctionDef):
        yield node.test, "False", "where a condition never holds"
    if isinstance(node, ast.If | ast.IfExp):
        yield node.test, "True", "where a condition always holds"
    lines = node.body if isinstance(node, ast.FunctionDef) else []
    for line in lines if len(lines) > 1 else ():
        if not isinstance(line, ast.Return):
            text = ast.unparse(line)
            calls = re.findall(r"\w+(?=\()", text) or text.split()
            yield line, "pass", f"without the line with `{calls[0]}`"


def swaps(node: Any) -> Iterator[ast.AST]:
    """Give a node with each operator that could stand in its place."""
    several = isinstance(node, ast.Compare)
    op = node.ops[0] if several else getattr(node, "op", None)
    others = SWAPS.get(type(op), ())
    if several and isinstance(getattr(node.comparators[0], "value", 0), float):
        others = others[-1:]  # no number is just on the limit
    for other in others:
        yield with_operator(node, other)


def with_operator(node: Any, op: type) -> Any:
    """Give a copy of a node with another operator."""
    new = copy.copy(node)
    new.op, new.ops = op(), [op(), *getattr(node, "ops", [])[1:]]
    return new


def slips(node: Any) -> Iterator[Change]:
    """List other changes of a node that learners make."""
    match node:
        case ast.Call():
            yield from call_slips(node, ast.unparse(node))
        case ast.BinOp(left, _, right):
            yield from operand_slips(node, *map(ast.unparse, (left, right)))
        case ast.Subscript():
            yield from index_slips(node)
        case ast.Attribute(value, "mT" | "T"):
            yield instead(node, value)
            new = f"({ast.unparse(value)}).reshape({ast.unparse(node)}.shape)"
            yield node, new, "with `reshape` instead of `.mT`"
        case ast.Compare(ops=[_]):
            for op in ORDERS:
                yield instead(node, with_operator(node, op))
            new = f"~({ast.unparse(node)})"
            yield node, new, "with the opposite of a condition"
        case ast.Tuple(_, ast.Load()) | ast.List(_, ast.Load()):
            yield from (instead(node, new) for new in swapped_parts(node))
        case ast.FunctionDef():
            names = [each.arg for each in node.args.args if each.arg != "self"]
            yield from exchanged_names(node, names)


def call_slips(node: ast.Call, text: str) -> Iterator[Change]:
    """List what learners do to a call: the first argument alone, another
    function, another axis, one more or less."""
    name, args = name_of(node), [ast.unparse(x) for x in node.args]
    owner = ast.unparse(getattr(node.func, "value", node.func))
    if isinstance(node.func, ast.Attribute) and owner not in LIBRARIES:
        args = [owner, *args]
    axes = [*node.args, *(x.value for x in node.keywords if x.arg == "dim")]
    slots = {"a": (*args, "0", "0")[1], "all": text, "x": (*args, "0")[0]}
    slots["z"] = ast.unparse(axes[-1]) if axes else "0"
    slots["plain"] = text.replace(".square()", "") if "square" in text else "_"
    yield node, slots["x"], f"without `{name}`"
    for pair in PAIRS:
        for other in pair if name in pair else ():
            says = f"with `{other}` instead of `{name}`"
            yield node, re.sub(rf"\b{name}(?=\()", other, text), says
    for axis in axes if name != "arange" else ():
        yield from other_axes(axis)
        if isinstance(axis, ast.Name):
            yield instead(axis, f"{axis.id} + 1")
            yield instead(axis, f"{axis.id} - 1")
    for names, form, says in RULES:
        if name in names.split():
            yield node, form.format(**slots), says


def other_axes(axis: ast.AST) -> Iterator[Change]:
    """Put each other axis in the place of one."""
    old = ast.unparse(axis)
    for n in PLACES if re.fullmatch("-?[0-3]", old) else ():
        yield axis, n, f"with axis {n} instead of axis {old}"


def operand_slips(node: ast.BinOp, a: str, b: str) -> Iterator[Change]:
    """List what learners do to the two sides of an operator."""
    for x, other in (a, b), (b, a):
        yield node, x, f"without `{shown(other)}`"
    for side, x in (node.left, a), (node.right, b):
        yield side, f"2 * ({x})", f"with twice `{shown(x)}`"
        yield side, f"({x}) ** 2", f"with the square of `{shown(x)}`"
    text = ast.unparse(node)
    bare = re.sub(r"^\((.*?)\)(?= )|(?<= )\((.*)\)$", r"\1\2", text)
    yield node, bare, "without the brackets around one side"


def index_slips(node: ast.Subscript) -> Iterator[Change]:
    """List what learners do to an index."""
    match node:
        case ast.Subscript(value, ast.Slice(lower, upper, None)):
            yield instead(node, ast.Subscript(value, ast.Slice(upper, lower)))
        case ast.Subscript(ast.Attribute(attr="shape") as shape, place):
            yield from other_axes(place)
            for n in PLACES[:4]:
                new = f"{ast.unparse(node)} * {ast.unparse(shape)}[{n}]"
                yield node, new, f"with the size of axis {n} as a factor"
        case ast.Subscript(value, ast.Tuple() as places):
            for part in swapped_parts(places):
                yield instead(node, ast.Subscript(value, part))


def swapped_parts(node: ast.Tuple | ast.List) -> Iterator[ast.expr]:
    """Give a list with each two neighbours exchanged."""
    for i in range(len(node.elts) - 1):
        parts = [*node.elts]
        parts[i : i + 2] = parts[i + 1], parts[i]
        yield type(node)(parts, ast.Load())


def exchanged_names(node: ast.AST, names: list[str]) -> Iterator[Change]:
    """Take the arguments of a function for each other, here or everywhere."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and each.id in names:
            yield from (instead(each, name) for name in names)
    head, _, body = ast.unparse(node).partition("\n")
    for a, b in combinations(names, 2):
        pieces = re.split(rf"\b({a}|{b})\b(?!=)", body)
        new = "".join({a: b, b: a}.get(piece, piece) for piece in pieces)
        yield node, f"{head}\n{new}", f"with `{a}` and `{b}` exchanged"
