"""Small faults to plant in a file: mutmut's, and some of our own.

Mutmut itself runs functions through trampolines, which the tracer sees and
shows. So its operators alone are used, and whole files are written anew.
"""

from collections.abc import Iterable, Iterator

import libcst as cst
from libcst.matchers import Assign, AssignTarget, Name, matches
from mutmut.mutation import mutators

# What is said of types, and what gives names only: ruff looks after these.
ASIDE = cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom
EXPORTS = Assign(targets=[AssignTarget(target=Name("__all__"))])
# A value that is None at once ends nearly every test: too easy a fault.
EASY = mutators.operator_assignment, mutators.operator_arg_removal


def faulty(source: str) -> set[str]:
    """The file with each fault of one step, as far as Python can read it."""
    module = cst.parse_module(source)
    places = Places()
    module.visit(places)
    codes = {
        module.deep_replace(node, changed).code
        for node, changed in places.pairs
    }
    return set(filter(readable, codes - {source}))


class Places(cst.CSTVisitor):
    """Collects nodes, each with what could stand in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[cst.CSTNode, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Take note of a node, and go on into it."""
        if isinstance(node, ASIDE) or matches(node, EXPORTS):
            return False
        self.pairs += [(node, changed) for changed in changes(node)]
        return True


def changes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What could stand in a node's place."""
    for kind, operator in mutators.mutation_operators:
        if isinstance(node, kind) and operator not in EASY:
            found = list(operator(node))
            # Of other texts one is enough: not in capitals, too.
            yield from found[:1] if kind is cst.BaseString else found
    yield from less(node)
    yield from forced(node)
    yield from silent(node)


def less(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    """A call with an argument less."""
    if isinstance(node, cst.Call) and len(node.args) > 1:
        for argument in node.args:
            rest = [x for x in node.args if x is not argument]
            yield node.with_changes(args=rest)


def forced(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    """An `if` that always holds, and one that never does."""
    if isinstance(node, (cst.If, cst.CompIf)):
        for name in "True", "False":
            yield node.with_changes(test=cst.Name(name))


def silent(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    """Nothing where a function is called for what it does; and another word
    where a text begins that has values in it."""
    if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
        yield cst.Pass()
    if isinstance(node, cst.FormattedString):
        first, *rest = node.parts
        if isinstance(first, cst.FormattedStringText):
            first = first.with_changes(value=f"XX{first.value}")
            yield node.with_changes(parts=[first, *rest])


def readable(code: str) -> bool:
    """Whether Python can read a file at all."""
    try:
        compile(code, "mutant", "exec")
    except SyntaxError:
        return False
    return True
