"""Draw the rooms of our packages, with an arrow from each to those that it
imports: `make picture`. Small packages are one room.

A room stands one floor above the highest that it imports. An arrow is left
out where others lead the same way, by way of a room between.
"""

import ast
from pathlib import Path

from jinja2 import Template
from packages import PACKAGES, ROOT, WITH_ROOMS

PICTURE = ROOT / "book" / "_static" / "architecture.svg"
HALF, FLOOR = 75, 96  # of columns and floors: pixels
# Where each room stands on its floor, in half columns, so that few arrows
# cross: a new room is put where it is free.
ROOM_COLUMNS = {
    "tformer_lite.decoding": 0,
    "tformer_lite.parts": 0,
    "tformer_lite.text": 0,
    "tformer_lite.example": 2,
    "tformer_lite.training": 2,
    "tformer_lite.model": 2,
    "pictures": 2,
    "tformer_lite.drawing": 4,
    "shapewatch.tracing": 4,
    "classroom": 4,
    "shapewatch.commands": 5,
    "shapewatch.properties": 6,
    "gallery": 6,
    "explorer": 8,
}
ROOMS_FILE = ROOT / "book" / "_templates" / "architecture.svg"
Arrows = dict[str, set[str]]


def rooms(packages: dict[str, Path] = PACKAGES) -> dict[str, list[Path]]:
    """List the files of each room, by its dotted name."""
    files = {}
    for package, above in packages.items():
        folders = [above / package]
        if package in WITH_ROOMS:
            folders = [f.parent for f in folders[0].glob("*/__init__.py")]
        for folder in sorted(folders):
            name = ".".join(folder.relative_to(above).parts)
            files[name] = sorted(folder.rglob("*.py"))
    return files


def imports(packages: dict[str, Path] = PACKAGES) -> Arrows:
    """Map each room to the rooms that its files import."""
    files, arrows = rooms(packages), {}
    for room in files:
        names = {
            f"{name}."
            for file in files[room]
            for name in imported_names(file.read_text("utf8"))
        }
        arrows[room] = {
            other
            for other in files.keys() - {room}
            if any(name.startswith(f"{other}.") for name in names)
        }
    return arrows


def imported_names(source: str) -> list[str]:
    """List the dotted names that a file imports."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            names += [name.name for name in node.names]
    return names


def floors(arrows: Arrows) -> dict[str, int]:
    """Tell each room's floor; RecursionError where imports go in a circle."""

    def floor(room: str) -> int:
        return max((floor(below) + 1 for below in arrows[room]), default=0)

    return {room: floor(room) for room in arrows}


def direct(arrows: Arrows) -> list[tuple[str, str]]:
    """List the arrows that no way through a third room stands for."""

    def below(room: str) -> set[str]:
        return set().union(*({x} | below(x) for x in arrows[room]))

    return [
        (room, to)
        for room in arrows
        for to in sorted(arrows[room])
        if not any(to in below(other) for other in arrows[room])
    ]


def sentence(arrows: Arrows) -> str:
    """Say what the picture shows."""
    parts = [
        f"{room} imports {', '.join(sorted(below)) or 'no other room'}"
        for room, below in arrows.items()
    ]
    return "; ".join(parts) + "."


def svg_text(arrows: Arrows) -> str:
    """Draw the rooms and their arrows as SVG, for light and dark pages."""
    height = floors(arrows)
    top = max(height.values())
    centre = {
        room: (HALF * (ROOM_COLUMNS[room] + 1), FLOOR * (top - floor) + 30)
        for room, floor in height.items()
    }
    form = Template(ROOMS_FILE.read_text("utf8"), keep_trailing_newline=True)
    return form.render(
        width=HALF * (max(ROOM_COLUMNS.values()) + 2),
        height=FLOOR * top + 60,
        says=sentence(arrows),
        centre=centre,
        arrows=direct(arrows),
    )


def main() -> None:
    """Write the picture anew."""
    PICTURE.write_text(svg_text(imports()), "utf8", newline="\n")


if __name__ == "__main__":
    main()
