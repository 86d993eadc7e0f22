"""Fill in the tables of book/names.md: what one tensor is called elsewhere.

The rows are in names.txt: "library: names | axes | note". What an installed
library calls a tensor is looked up in its run, and its axes come from there;
axes that are written only say the order of a product, T*B. The paper's are
written in letters, those of a library that is read and not run in its own
words, "batch pos d_model".
"""

import re
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from libraries import BUILDS
from naming import ADDRESS, Found, library
from polarity import meaning

HERE = Path(__file__).parent
PAGE, ROWS = HERE.parent / "names.md", HERE / "names.txt"
PLACE = re.compile(r"<!-- (?!end)(\w+) -->\n.*?(?=<!-- end -->)", re.DOTALL)
# A short name for the attention of the first block: ~
ATTENTION = {
    "here": "decoder.blocks.0.cross_attention",
    "BERT": "bert.encoder.layer.0.attention.self",
    "GPT-2": "transformer.h.0.attn",
    "Llama": "model.layers.0.self_attn",
    "TransformerLens": "blocks.0.attn",
}
# What libraries that are read call the axes.
WORDS = {
    "B": "batch b",
    "T": "pos query_pos t",
    "S": "key_pos kv_pos",
    "H": "head_index nh",
    "D": "d_head hs",
    "C": "d_model n_embd",
    "3C": "3n_embd",
    "F": "d_mlp 4n_embd",
    "V": "d_vocab d_vocab_out vocab_size",
    "N": "n_ctx block_size",
    "1": "1",
}
LETTERS = {word: key for key, words in WORDS.items() for word in words.split()}
TURNS = {2: "the 2nd", 3: "the 3rd", 4: "the 4th"}
RETURNS, AS = "returns", " as "


class Row(NamedTuple):
    """A row of a table: who calls it what, and the axes as they are written
    in names.txt."""

    library: str
    names: list[str]
    axes: list[str]
    note: str = ""

    def found(self) -> list[Found]:
        """Look the names up, if the library is run."""
        if self.library not in BUILDS:
            return []
        return [library(self.library)[looked(name)] for name in self.names]

    def letters(self) -> list[str]:
        """Give the letters of the axes, proved or read.

        Raises ValueError where what is written is not what was proved.
        """
        proved = {tuple(a.name for a in one.axes) for one in self.found()}
        if not proved:
            read = self.library != "paper"
            return [LETTERS[a] if read else a for a in self.axes]
        (axes,) = proved
        for name, written in zip(axes, self.axes):
            if sorted(name.split("*")) != sorted(written.split("*")):
                raise ValueError(f"{self} has {axes}")
        return self.axes or list(axes)


def looked(name: str) -> str:
    """Give what is looked up for a name: (mask) for (mask) as q."""
    return "" if name == RETURNS else name.partition(AS)[0]


@cache
def rows() -> dict[str, list[Row]]:
    """Read all rows, by table."""
    text = ROWS.read_text("utf8").strip()
    parts = [part.strip().split("\n") for part in text.split("# ")[1:]]
    return {name: list(map(read, lines)) for name, *lines in parts}


def read(line: str) -> Row:
    """Read a row."""
    who, _, rest = line.partition(": ")
    names, axes, note = [*map(str.strip, rest.split("|")), "", ""][:3]
    names = names.replace("~", ATTENTION.get(who, "~"))
    return Row(who, names.split("; "), axes.split(), note)


def filled(page: str) -> str:
    """Write each table of a page anew."""
    return PLACE.sub(lambda m: f"<!-- {m[1]} -->\n\n{table(m[1])}\n", page)


def table(name: str) -> str:
    """Write the table of one tensor; who says the same shares a row."""
    same: dict[tuple, list[str]] = {}
    for row in rows()[name]:
        same.setdefault((called(row), shape(row)), []).append(who(row))
    body = [(", ".join(names), *cells) for cells, names in same.items()]
    made = [("library", "its name", "axes"), ["---"] * 3, *body]
    text = "".join(f"| {' | '.join(row)} |\n" for row in made)
    return f'<div class="names">\n\n{text}\n</div>\n'


def who(row: Row) -> str:
    """Name the library, with a mark if it is read and not run."""
    read = row.library not in BUILDS and row.library != "paper"
    return row.library.replace("rL", "r<wbr>L") + ("†" if read else "")


def called(row: Row) -> str:
    """Write the names of a row, and below them where they are found."""
    names = [shown(name, row.library in BUILDS) for name in row.names]
    paths = any("." in name for name in names)
    lines = [(",<br>" if paths else ", ").join(names)]
    below = [*where(row), *([meant(row)] if row.note else [])]
    return "<br>".join(lines + ([", ".join(below)] if below else []))


def shown(name: str, run: bool) -> str:
    """Write a name as it is in the code: the last part of an address."""
    if name == RETURNS:
        return "*what it returns*"
    if name.startswith("$"):
        return name
    if run and AS not in name:
        name = next(filter(None, ADDRESS.fullmatch(name).group(2, 3, 1)))
    return code(name.rpartition(AS)[2])


def where(row: Row) -> list[str]:
    """Say of a variable in which function it is, and which of the tensors
    that it is in turn; of an argument, to what it is given."""
    for name, found in zip(row.names, row.found()):
        path, argument, variable, _ = ADDRESS.fullmatch(looked(name)).groups()
        if argument:
            return [f"given to {code(path)}" if path else "an argument"]
        if variable:
            turn = "" if AS in name else TURNS.get(found.nth, "")
            return [*filter(None, [turn, f"in {code(found.where)}"])]
    return []


def meant(row: Row) -> str:
    """Write the note of a row; of a mask, with what the marks mean."""
    if row.note not in ("True", "1"):
        return re.sub("`(.*?)`", lambda m: code(m[1]), row.note)
    if row.library not in BUILDS:
        return f"{row.note}: may attend"
    mask = ADDRESS.fullmatch(row.names[0])[2]
    return f"{row.note}: **{meaning(row.library, mask)}**"


def code(name: str) -> str:
    """Write a name that may be broken after a dot or an underscore."""
    return f"<code>{re.sub('(?<=[._])(?=[a-zA-Z])', '<wbr>', name)}</code>"


def shape(row: Row) -> str:
    """Write a row's axes, each letter in its colour."""
    axes = [re.sub("[BTSHDCFV]", r"{axis}`\g<0>`", a) for a in row.letters()]
    text = ",\u00a0".join(axes).replace("*", "·")
    text = re.sub("[GN]", r"*\g<0>*", text)
    return f"({text})"


def main() -> None:
    """Write the page anew."""
    PAGE.write_text(filled(PAGE.read_text("utf8")), "utf8", newline="\n")


if __name__ == "__main__":
    sys.exit(main())
