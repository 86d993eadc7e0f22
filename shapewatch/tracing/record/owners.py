"""Owners: whose a line of code is: the reader's, PyTorch's, the tracer's or
another package's."""

import re
import sysconfig
from functools import cache
from os import sep
from pathlib import Path

import torch

FOLDERS = {
    "tracer": f"{Path(__file__).parents[1]}{sep}",
    "torch": f"{Path(torch.__file__).parent}{sep}",
}
SITE_PACKAGES = f"{sep}site-packages{sep}"
# Python's own files, and those of installed packages; but the packages of
# the book are read as what the reader wrote.
PACKAGE = re.compile(
    rf"{re.escape(sysconfig.get_path('stdlib'))}[/\\](?!(site|dist)-packages)"
    r"|[/\\](site|dist)-packages[/\\](?!(shapewatch|tformer_lite|classroom)\b)"
)


@cache
def exact_owner(filename: str) -> str:
    """Tell whose a file is: the tracer's, torch's, another package's or the
    reader's."""
    owners = (x for x in FOLDERS if filename.startswith(FOLDERS[x]))
    other = "package" if PACKAGE.search(filename) else "reader"
    return next(owners, other)


def owner(filename: str) -> str:
    """Tell whose a file is: "tracer", "torch" or, where lines can be shown as
    they are written, "reader"."""
    return exact_owner(filename).replace("package", "reader")
