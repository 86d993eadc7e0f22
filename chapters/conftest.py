"""How nbval runs a notebook, and compares its outputs with the stored ones.

Strictly, but for decimals, which may differ by one unit in the last printed
place. Drawings, and what `explore` gives, are compared by the text/plain
description beside them.

All chapters run as on a plain processor here, and as this one runs them
where they are tried in Colab; `make cpus` tries them as several.
"""

import os
import sys
from unittest.mock import patch

import nbval.kernel
from nbval.plugin import IPyNbCell, IPyNbFile

from tests.helpers.kernels import start_new_kernel
from tests.helpers.numbers import agree

# torch's own kernels, and MKL's.
PLAIN = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
EXPLORED = '<div class="explorer '
strictly, start = IPyNbCell.compare_outputs, IPyNbFile.setup


def setup(file) -> None:
    """Start a notebook's kernel; what the shell has set is left as it is."""
    with patch.dict(os.environ, PLAIN | os.environ):
        start(file)


def compare_outputs(cell, test, ref, skip_compare=None) -> bool:
    """Take over the stored texts that agree, then compare strictly."""
    for mine, stored in zip(map(faces, test), map(faces, ref)):
        for key in {"text", "text/plain"} & set(mine) & set(stored):
            if agree(mine[key], stored[key]):
                mine[key] = stored[key]
        if EXPLORED in mine.get("text/html", ""):
            mine["text/html"] = stored.get("text/html")
    skip = skip_compare or cell.parent.skip_compare
    return strictly(cell, test, ref, (*skip, "image/svg+xml"))


def faces(output) -> dict:
    """The part of an output that holds its texts: what was shown, by kind,
    or the output itself where something was printed."""
    return output.get("data", output)


IPyNbFile.setup = setup
IPyNbCell.compare_outputs = compare_outputs
if sys.platform == "linux":  # elsewhere a fork of torch may not run
    nbval.kernel.start_new_kernel = start_new_kernel
