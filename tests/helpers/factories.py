"""A reader's own modules, for as long as a test runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def own_modules(
    folder: Path, patch: pytest.MonkeyPatch, **modules: str
) -> Iterator[Path]:
    """Work in a folder with modules; none of them stays imported."""
    for name, code in modules.items():
        (folder / f"{name}.py").write_text(code)
    patch.chdir(folder)
    patch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name in modules:
            del sys.modules[name]
