"""How nbval runs a notebook, and compares its outputs with the stored ones.

Strictly, but for decimals, which may differ by one unit in the last printed
place. Drawings are compared by the text/plain description beside them.

Chapters that print what is largest, or other words that ties decide, run as
on a plain processor; the others, as this one runs them. `make cpus` tries
all as several.
"""

import os
from unittest.mock import patch

from cpus import PLAIN
from nbval.plugin import IPyNbCell, IPyNbFile

from tests.helpers.numbers import agree

ON_PLAIN = {3, 5, 7, 8, 9, 10, 13, 14, 18, 19}

strictly, start = IPyNbCell.compare_outputs, IPyNbFile.setup


def setup(file) -> None:
    """Start a notebook's kernel; what the shell has set is left as it is."""
    plain = PLAIN if int(file.path.name[:2]) in ON_PLAIN else {}
    with patch.dict(os.environ, plain | os.environ):
        start(file)


def compare_outputs(cell, test, ref, skip_compare=None) -> bool:
    """Take over the stored texts that agree, then compare strictly."""
    for mine, stored in zip(map(faces, test), map(faces, ref)):
        for key in {"text", "text/plain"} & set(mine) & set(stored):
            if agree(mine[key], stored[key]):
                mine[key] = stored[key]
    skip = skip_compare or cell.parent.skip_compare
    return strictly(cell, test, ref, (*skip, "image/svg+xml"))


def faces(output) -> dict:
    """The part of an output that holds its texts: what was shown, by kind,
    or the output itself where something was printed."""
    return output.get("data", output)


IPyNbFile.setup = setup
IPyNbCell.compare_outputs = compare_outputs
