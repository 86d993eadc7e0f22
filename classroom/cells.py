"""Cells of a notebook: the Python in them, and stand-ins for what a notebook
has and a grader has not."""

import ast
import codeop
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import ModuleSpec
from typing import Any

# Says "incomplete input" where there is more.
READS = ast.PyCF_ONLY_AST | codeop.Compile().flags
MARGINS = 200  # lines at the margin that one statement may have
# A statement begins here, unless the line above goes on.
MARGIN = re.compile(r"(?!\s|$|#|(?:else|elif|except|finally)\b|[)\]}])")
# Lines that are IPython's: %time f(), !pip, files = !ls, torch.tril?
MAGIC = re.compile(
    r"^([ \t]*)(?:([\w., ]+= *(?=[!%]))?(?:%time +(\S.*)|[!%?](?:.*\\\n)*.*)"
    r"|[\w.]+\?+ *)$",
    re.MULTILINE,
)
FOREIGN = re.compile(  # cells whose body the notebook does not run as Python
    r"\s*%%(?:!|bash|cmd|cython|file|html|javascript|js|latex|markdown|perl|"
    r"pypy|python\d?|R|ruby|script|sh|sql|svg|sx|system|timeit|writefile)(?!\w)"
)
SHOWS = {"IPython", "google", "google.colab", "ipywidgets", "matplotlib"}
SHOWS |= {"mpl_toolkits", "my_transformer", "plotly", "seaborn", "tqdm"}


def statements(cell: str) -> Iterator[tuple[int, ast.stmt | str]]:
    """Give the statements of a cell with their lines, counted from 1; for
    lines that are no Python, what is wrong with the first."""
    if FOREIGN.match(cell):
        return
    tree = parse(cell, str, textwrap.dedent)
    parts = pieces(cell) if isinstance(tree, str) else [(1, tree)]
    for line, part in parts:
        if isinstance(part, str):
            yield line, part
        else:
            yield from ((node.lineno, node) for node in part.body)


def pieces(text: str) -> Iterator[tuple[int, ast.Module | str]]:
    """Cut a text at the lines that begin at the margin, and join what is one
    statement: a decorator and its function, what stands in brackets."""
    lines = text.split("\n")
    goes_on = [False, *(line.endswith("\\") for line in lines)]
    starts = [i for i, x in enumerate(lines) if MARGIN.match(x)]
    starts = [0, *(i for i in starts if i and not goes_on[i]), len(lines)]
    at, wrong = 0, False
    while at + 1 < len(starts):
        for end in range(at + 1, min(at + MARGINS, len(starts))):
            part = "\n".join(lines[starts[at] : starts[end]])
            piece = parse("\n" * starts[at] + part, str, python)
            if piece != "incomplete input":
                break
        if not (wrong and isinstance(piece, str)):
            yield starts[at] + 1, piece
        wrong = isinstance(piece, str)
        at = at + 1 if wrong else end


def parse(text: str, *ways: Callable[[str], str]) -> ast.Module | str:
    """Parse a text in the first way that works, or say what is wrong."""
    wrong = ""
    for way in ways:
        try:
            return compile(f"{way(text)}\n", "", "exec", READS, True)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            wrong = wrong or str(getattr(error, "msg", error))
    return wrong


def python(text: str) -> str:
    """Put lines that do nothing, or make a name None, in IPython's place."""
    return MAGIC.sub(
        lambda line: (
            f"{line[1]}{line[2] or ''}"
            f"{line[3] or ('None' if line[2] else 'pass')}"
        ),
        text,
    )


class StandIn(types.ModuleType):
    """Accepts anything; a loop over it runs over what it was called with. It
    also finds one for each module that shows something and is missing."""

    over: Iterable[Any] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        first = args[0] if args else None
        if isinstance(first, types.FunctionType):  # as a decorator
            return first
        module = StandIn(self.__name__)
        module.over = first if isinstance(first, Iterable) else (module,) * 2
        if self.__name__ == "trange":
            module.over = range(*args)
        return module

    def __iter__(self) -> Iterator[Any]:
        return iter(self.over)

    def __getitem__(self, key: Any) -> Any:
        return self

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None: ...

    def find_spec(self, name: str, *more: Any) -> ModuleSpec | None:
        """Find a module, when all others have found none."""
        inside = sys.modules.get(name.rpartition(".")[0])
        if name in SHOWS or isinstance(inside, StandIn):
            return ModuleSpec(name, self, is_package=True)  # type: ignore
        return None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """Make a module; nothing has to be done to it."""
        return StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None: ...
