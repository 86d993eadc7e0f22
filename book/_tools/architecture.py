"""Draw the rooms of our packages, with an arrow from each to those that it
imports: `make picture`. Small packages are one room.

A room stands one floor above the highest that it imports. An arrow is left
out where others lead the same way, by way of a room between.
"""

import ast
from pathlib import Path

from packages import PACKAGES, ROOT, WITH_ROOMS

PICTURE = ROOT / "book" / "_static" / "architecture.svg"
HALF, HIGH, BOX, FLOOR = 75, 44, 104, 96  # of columns, boxes, floors: pixels
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
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" \
width="{width}" height="{height}" role="img">
<title>The rooms of the packages</title>
<desc>{says}</desc>
<style>
  svg {{ background: #fff; font: 15px system-ui, sans-serif; }}
  rect {{ fill: #f6f8fa; stroke: #8c959f; }}
  text {{ fill: #1f2328; text-anchor: middle; }}
  .package {{ font-size: 11px; }}
  line {{ stroke: #57606a; marker-end: url(#tip); }}
  path {{ fill: #57606a; }}
  @media (prefers-color-scheme: dark) {{
    svg {{ background: #14181e; }}
    rect {{ fill: #22272e; stroke: #768390; }}
    text {{ fill: #e6edf3; }}
    line {{ stroke: #adbac7; }}
    path {{ fill: #adbac7; }}
  }}
</style>
<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" \
markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z"/></marker>
{shapes}
</svg>
"""
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
    shapes = [line(centre[a], centre[b]) for a, b in direct(arrows)]
    shapes += [box(room, *place) for room, place in centre.items()]
    return SVG.format(
        width=HALF * (max(ROOM_COLUMNS.values()) + 2),
        height=FLOOR * top + 60,
        says=sentence(arrows),
        shapes="\n".join(shapes),
    )


def line(start: tuple[int, int], end: tuple[int, int]) -> str:
    """Draw an arrow from below one room to above another."""
    (x, y), (to, down) = start, end
    half = HIGH // 2
    return f'<line x1="{x}" y1="{y + half}" x2="{to}" y2="{down - half}"/>'


def box(room: str, x: int, y: int) -> str:
    """Draw a room with its name."""
    corner = f'x="{x - BOX // 2}" y="{y - HIGH // 2}"'
    size = f'width="{BOX}" height="{HIGH}" rx="5"'
    package, _, inside = room.rpartition(".")
    name = f'<text x="{x}" y="{y + (12 if package else 5)}">{inside}</text>'
    if package:
        above = f'<text class="package" x="{x}" y="{y - 6}">{package}</text>'
        name = above + name
    return f"<rect {corner} {size}/>{name}"


def main() -> None:
    """Write the picture anew."""
    PICTURE.write_text(svg_text(imports()), "utf8", newline="\n")


if __name__ == "__main__":
    main()
