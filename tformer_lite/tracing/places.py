"""Places: the reader's own line that led to a call."""

from pathlib import Path
from types import CodeType, FrameType

import torch

Place = tuple[CodeType, int]
LIBRARIES = tuple(
    str(Path(file).parent) for file in (torch.__file__, __file__)
)


class Libraries(dict):
    """Whether a file is PyTorch's or ours, and not the reader's."""

    def __missing__(self, filename: str) -> bool:
        self[filename] = filename.startswith(LIBRARIES)
        return self[filename]


# By file name: a string knows its hash, a code object works it out anew.
in_library = Libraries()


def place(
    frame: FrameType, base: CodeType
) -> tuple[CodeType, int, tuple[Place, ...]]:
    """Find the reader's own line that led here, and those that led there
    within the same module. Where there is none, it is `base`, the code that
    started the recording."""
    while in_library[frame.f_code.co_filename] and frame.f_code is not base:
        frame = frame.f_back
    first, found, outer = frame, [], frame.f_back
    while outer and not in_library[outer.f_code.co_filename]:
        found.append((outer.f_code, outer.f_lasti))
        outer = outer.f_back
    if first.f_code is base:
        found = []
    return first.f_code, first.f_lasti, tuple(found)
