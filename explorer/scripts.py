"""Put the modules of a script into one text: a page that is opened from a
disk may not load modules, nor may the output of a notebook."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent
SCRIPT_NAME = re.compile(
    r"^(?:export )?(?:const|let|function|class) (\w+)", re.M
)
MODULE_WORDS = re.compile(r"^import [^;]*;\n|^export ", re.MULTILINE)


def join_modules(modules: Iterable[Path]) -> str:
    """Join modules, each behind those that it imports from. Raises
    ValueError where two of them have one name."""
    texts = [module.read_text("utf8") for module in modules]
    names = Counter(
        name for text in texts for name in SCRIPT_NAME.findall(text)
    )
    if twice := [name for name, count in names.items() if count > 1]:
        raise ValueError(f"two modules of a script have {', '.join(twice)}.")
    return "\n".join(MODULE_WORDS.sub("", text) for text in texts)
