"""Put the modules of a script into one text: a page that is opened from a
disk may not load modules."""

import re
from collections.abc import Iterable
from pathlib import Path

LINKED = re.compile(r"^import [^;]*;\n|^export ", re.MULTILINE)


def joined(modules: Iterable[Path]) -> str:
    """Join modules, each behind those that it imports from."""
    return "\n".join(LINKED.sub("", m.read_text("utf8")) for m in modules)
