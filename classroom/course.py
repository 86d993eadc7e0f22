"""Assignments of several parts: their points, and what is handed out.

    python -m classroom.course bug_hunt autumn

writes what `classroom grade` reads: the points of each part, and the seed.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from classroom.assignment import Assignment
from classroom.cases import Draw
from classroom.exercise import Exercise, exercises, statement_files
from classroom.mistakes import edited_code


def assignment(name: str, seed: str, *only: str) -> Assignment:
    """Gather the parts of an assignment with their points: all, or those
    that are named. Raises ValueError for a name that is none."""
    points = {n: x.points for n, x in exercises().items() if x.points}
    files = {
        file.stem.partition("_")[2]: file.read_text("utf8")
        for file in statement_files()
    }
    text = files.get(name, "")
    parts = [n for n in points if f'check("{n}"' in text]
    if not parts or {*only} - {*parts}:
        titles = [
            x for x in files if any(f'"{n}"' in files[x] for n in points)
        ]
        raise ValueError(
            f"{name=}: the assignments are {', '.join(titles)}. The parts of "
            f"this one are {', '.join(parts) or 'none'}."
        )
    chosen = {n: points[n] for n in parts if n in (only or parts)}
    return Assignment(name, seed, chosen)


def planted(hunt: Exercise, seed: str) -> Sequence[tuple[str, ...]]:
    """Draw a bug from each shelf: the word before a sentence's colon."""
    shelves: dict[str, list[tuple[str, ...]]] = {}
    for edit in hunt.edits:
        shelves.setdefault(edit[-1].partition(":")[0], []).append(edit)
    draw = Draw(f"{hunt.name} {seed}")
    return [draw.choice(*edits) for edits in shelves.values()]


def stranger(hunt: Exercise, edits: Sequence[tuple[str, ...]]) -> str:
    """Write the file with these bugs in it."""
    code = edited_code(hunt, edits).strip()
    return f'{code}\ncheck("{hunt.name}", {hunt.name})'


def hand_out(name: str, seed: str, *only: str) -> None:
    """Write an assignment's JSON; of a hunt, the stranger's file as well,
    and print which bugs are in it."""
    handed_out = assignment(name, seed, *only)
    Path(f"{name}.json").write_text(handed_out.text(), "utf8")
    print(f"{name}.json: for you; `classroom grade` reads it")
    for hunt in (x for x in handed_out.exercises if x.kind == "hunt"):
        edits = planted(hunt, handed_out.draw)
        Path("stranger.py").write_text(stranger(hunt, edits) + "\n", "utf8")
        print("stranger.py: for the students; its wrong lines are")
        for edit in edits:
            print(f"  {edit[1]}\n    {edit[-1]}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    hand_out(*sys.argv[1:])
