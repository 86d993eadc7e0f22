"""Places: the reader's own lines that led to a call."""

from pathlib import Path
from types import CodeType, FrameType

import torch

Spot = tuple[CodeType, int]  # an instruction: its code, and where it is there
Place = tuple[Spot, ...]  # the lines that led to a call, the innermost first
TORCH, TRACER = (
    str(folder)
    for folder in (Path(torch.__file__).parent, Path(__file__).parents[1])
)


class InFolders(dict[str, bool]):
    """Whether a file is in some folders. By file name: a string knows its
    hash, a code object works it out anew."""

    def __init__(self, *folders: str):
        super().__init__()
        self.folders = folders

    def __missing__(self, filename: str) -> bool:
        self[filename] = filename.startswith(self.folders)
        return self[filename]


in_tracer, in_library = InFolders(TRACER), InFolders(TORCH, TRACER)


def place_of(frame: FrameType | None, base: CodeType | None) -> Place:
    """Find the reader's own line that led here, and those that led there
    within the same module, past PyTorch's. Where there is none, it is
    `base`, the code that started the recording."""
    while frame:
        code = frame.f_code
        if code is base or not in_library[code.co_filename]:
            break
        frame = frame.f_back
    if frame is None:
        return ()
    found, outer = [(code, frame.f_lasti)], frame.f_back
    while outer and code is not base:
        outer_code = outer.f_code
        if in_tracer[outer_code.co_filename]:
            break
        if not in_library[outer_code.co_filename]:
            found.append((outer_code, outer.f_lasti))
        outer = outer.f_back
    return tuple(found)
