"""The 95 shapes that source 003 prints: codeblock, the source's label, shape.

It prints them after codeblocks 4, 5, 7, 9, 12, 15, 17, 19, 21, 23 and 26.
Chapter 16 shows them beside ours, from the same list.
"""

from tests.helpers.project import ROOT

LIST = ROOT / "tformer_lite" / "example" / "texts" / "source_003.txt"
ROWS = [line.split(" | ") for line in LIST.read_text("utf8").splitlines()[1:]]
TABLE = [(int(n), text, tuple(map(int, s.split()))) for n, text, s, *_ in ROWS]
# What has another shape here, and which: our masks have every axis.
COUNTERPARTS = {(9, "mask"): (1, 200, 200)}
