"""Planting: the model's own modules once more, with one line changed."""

import builtins
import linecache
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any
from zlib import crc32

import tformer_lite

HOUSE = Path(tformer_lite.__file__).parent
# What is copied: the model and its other parts, but for the config, which
# copies and the model itself must both understand; and the running model.
ROOMS = "model", "parts"
FILES = [file for room in ROOMS for file in (HOUSE / room).glob("[!_]*.py")]
PLACE_FILES = {
    file.stem: file for file in sorted(FILES) if file.stem != "config"
}
PLACE_FILES["running"] = HOUSE / "example" / "running.py"
PLACES = {
    f"tformer_lite.{file.parent.name}.{place}": place
    for place, file in PLACE_FILES.items()
}
# PyTorch's own norm shows no line that could be changed. Where one is changed
# in `variants`, models take the same function from there, written out.
WRITTEN_NORM = "choices", "layer=nn.LayerNorm,", 'layer="variants.LayerNorm",'


def planted(file: str, right: str, wrong: str) -> SimpleNamespace:
    """Copy the model's modules, with a line of one of them replaced.

    `file` is one in the rooms `model` and `parts`, such as attention or
    layers, or running; `right` is a line of it, without its indentation, and
    `wrong` the one that comes instead. The copies are attributes of the
    result: `planted(...).running.running_model()` is the book's model with
    that line changed. The modules themselves stay as they are. Tracebacks
    and traces show the lines that run.

    A line that stands there twice, as in two blocks, is replaced twice.
    Raises ValueError when it does not stand there.
    """
    copies = Copies({file: new_source(file, right, wrong)})
    if file == "variants":
        copies.sources["choices"] = new_source(*WRITTEN_NORM)
    return SimpleNamespace(**{name: copies[name] for name in PLACE_FILES})


def new_source(file: str, right: str, wrong: str) -> str:
    """Write a file's source with a line replaced."""
    lines = source(file).splitlines()
    found = [i for i, line in enumerate(lines) if line.strip() == right]
    if not found:
        raise ValueError(
            f"{file}.py has no line {right!r}: give one that stands there, "
            "whole, and without its indentation."
        )
    for i in found:
        lines[i] = lines[i].removesuffix(right) + wrong
    return "\n".join(lines) + "\n"


def source(file: str) -> str:
    """Read the source of one of the modules that are copied."""
    if file not in PLACE_FILES:
        raise ValueError(f"{file=} is none of {', '.join(PLACE_FILES)}.")
    return PLACE_FILES[file].read_text("utf8")


class Copies(dict[str, ModuleType]):
    """Copies of the modules, each made when it is first asked for.

    They import one another. What is not copied they import as it is.
    """

    def __init__(self, sources: dict[str, str]):
        super().__init__()
        self.sources = sources

    def __missing__(self, file: str) -> ModuleType:
        module = ModuleType(f"copies.{file}")
        builtin = vars(builtins) | {"__import__": self.fetch}
        vars(module)["__builtins__"] = builtin
        self[file] = module
        text = self.sources.get(file, source(file))
        exec(code(file, text), vars(module))
        return module

    def fetch(self, name: str, *details: Any) -> Any:
        """Import a copy if there is one, else the module itself."""
        if name in PLACES:
            return self[PLACES[name]]
        if name == "importlib":  # by which a model's choices find its parts
            return SimpleNamespace(import_module=self.fetch)
        return __import__(name, *details)


@cache
def code(file: str, text: str) -> CodeType:
    """Compile a source, and let whoever shows its lines find them."""
    name = f"<{file}.py, copy {crc32(text.encode()):x}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    return compile(text, name, "exec", dont_inherit=True)
