"""Bindings: what a name stands for, as far as a file tells."""

import ast
from collections import defaultdict
from functools import cache
from types import CodeType

from shapewatch.tracing.source.expressions import (
    Function,
    definition,
    lines_of,
    tree_of,
)


def stands_for(node: ast.AST, code: CodeType, caller: CodeType) -> bool:
    """Whether what a function calls is this other one, which ran from there:
    by its own name, or by one that is given to it alone, in the caller or
    else in their files. A parameter is taken for what it called."""
    if is_function(node, code):
        return True
    own = bindings(definition(caller)) if isinstance(node, ast.Name) else {}
    files = {tree_of(lines_of(caller)), tree_of(lines_of(code))}
    name = last_name(node)
    values = own.get(name) or [
        value for file in files for value in bindings(file).get(name, [])
    ]
    return bool(values) and all(
        is_function(value, code) or (name in own and type(value) is ast.arg)
        for value in values
    )


def is_function(node: ast.AST | None, code: CodeType) -> bool:
    """Whether an expression is a function, as it is or partly applied."""
    if isinstance(node, ast.Call) and last_name(node.func) == "partial":
        node = node.args[0] if node.args else None
    if isinstance(node, Function):
        return node is definition(code)
    return node is not None and last_name(node) == code.co_name


def last_name(node: ast.AST) -> str:
    """The last part of a dotted name; "" for anything else."""
    return getattr(node, "attr", getattr(node, "id", ""))


@cache
def bindings(scope: ast.AST) -> dict[str, list[ast.AST | None]]:
    """List what is bound to each name or attribute, anywhere in a file or a
    function; None where that is not told. An import that keeps the name is
    left out."""
    found: dict[str, list[ast.AST | None]] = defaultdict(list)
    values: dict[ast.AST, ast.expr | None] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            values |= dict.fromkeys(node.targets, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            values[node.target] = node.value
        elif isinstance(node, ast.alias):
            if node.asname:
                found[node.asname].append(ast.Name(node.name))
        elif isinstance(node, ast.arg):
            found[node.arg].append(node)
        elif isinstance(getattr(node, "ctx", None), ast.Store):
            found[last_name(node)].append(values.get(node))
        elif hasattr(node, "name"):
            found[node.name].append(node)
    return found


def value_at_end(function: Function, name: str) -> ast.expr | ast.stmt | None:
    """Find what a variable is at the end of a function: the value of the
    last statement that binds it, unless that is inside another."""
    body = [] if isinstance(function, ast.Lambda) else function.body
    for statement in reversed(body):
        if any(binds(node, name) for node in ast.walk(statement)):
            match statement:
                case ast.AugAssign():
                    return statement
                case ast.Assign([ast.Name(bound), *_], value) if bound == name:
                    return value
            return None
    return None


def binds(node: ast.AST, name: str) -> bool:
    """Whether a variable is bound here, or a method such as x.t_() called
    that may give it another shape."""
    if isinstance(node, ast.Attribute) and node.attr.endswith("_"):
        node = node.value
    elif isinstance(getattr(node, "ctx", None), ast.Load):
        return False
    return isinstance(node, ast.Name) and node.id == name
