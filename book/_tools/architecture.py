"""Draw the rooms of our packages, with an arrow from each to those that it
imports: `make picture`. Small packages are one room.

A room stands one floor above the highest that it imports. An arrow is left
out where others lead the same way, by way of a room between.
"""

import ast
from itertools import combinations, product
from pathlib import Path
from random import Random

from packages import PACKAGES, ROOT, WITH_ROOMS

PICTURE = ROOT / "book" / "_static" / "architecture.svg"
HALF, HIGH, BOX, FLOOR = 75, 44, 104, 96  # of columns, boxes, floors: pixels
TRIES = 30
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
Spots = dict[str, tuple[int, int]]  # of each room: half columns, floor


def rooms(packages: dict[str, Path] = PACKAGES) -> dict[str, list[Path]]:
    """List the files of each room, by its dotted name."""
    found = {}
    for package, above in packages.items():
        folders = [above / package]
        if package in WITH_ROOMS:
            folders = [f.parent for f in folders[0].glob("*/__init__.py")]
        for folder in sorted(folders):
            name = ".".join(folder.relative_to(above).parts)
            found[name] = sorted(folder.rglob("*.py"))
    return found


def imports(packages: dict[str, Path] = PACKAGES) -> Arrows:
    """Map each room to the rooms that its files import."""
    files = rooms(packages)
    found = {}
    for room, own in files.items():
        names = {
            f"{n}."
            for file in own
            for n in imported_names(file.read_text("utf8"))
        }
        found[room] = {
            other
            for other in files.keys() - {room}
            if any(name.startswith(f"{other}.") for name in names)
        }
    return found


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


def best_places(arrows: Arrows) -> Spots:
    """Give each room a column of its floor: the clearest of some tries, which
    begin with the rooms of a floor beside each other, in any order."""
    lines, height, tries = direct(arrows), floors(arrows), []
    for seed in range(TRIES):
        rooms = Random(seed).sample(list(arrows), len(arrows))
        rows = [[r for r in rooms if height[r] == f] for f in height.values()]
        places = {
            r: (2 * row.index(r), height[r]) for row in rows for r in row
        }
        tries.append(improve(places, lines))
    return min(tries, key=lambda places: clutter(places, lines))


def improve(places: Spots, lines: list[tuple[str, str]]) -> Spots:
    """Move one or two rooms at a time, as long as that helps."""
    columns = range(max(column for column, _ in places.values()) + 1)
    for room, column in product(places, columns):
        tried = move_room(places, room, column)
        if clutter(tried, lines) < clutter(places, lines):
            return improve(tried, lines)
    return places


def move_room(places: Spots, room: str, column: int) -> Spots:
    """Move a room to a column; who stands there takes its place."""
    (old, floor), new = places[room], (column, places[room][1])
    other = {r: (old, floor) for r, place in places.items() if place == new}
    return places | other | {room: new}


def clutter(places: Spots, lines: list[tuple[str, str]]) -> float:
    """Weigh what makes a picture hard to read: rooms too close, lines through
    rooms, lines that cross, and long lines."""
    rooms = combinations(places.values(), 2)
    close = sum(a[1] == b[1] and abs(a[0] - b[0]) < 2 for a, b in rooms)
    ends = [(places[a], places[b]) for a, b in lines]
    through = sum(
        abs(at(line, floor) - column) < 0.95
        for line in ends
        for column, floor in places.values()
        if line[1][1] < floor < line[0][1]
    )
    crossing = sum(crosses(*pair) for pair in combinations(ends, 2))
    long = sum((a[0] - b[0]) ** 2 for a, b in ends)
    return 1000 * close + 100 * through + 10 * crossing + long


def at(line, floor: float) -> float:
    """Tell the column at which a line passes a floor."""
    (x, top), (to, bottom) = line
    return x + (to - x) * (top - floor) / (top - bottom)


def crosses(one, other) -> bool:
    """Tell whether two lines change sides between the floors they share."""
    top = min(one[0][1], other[0][1])
    bottom = max(one[1][1], other[1][1])
    if top <= bottom:
        return False
    gaps = [at(one, f) - at(other, f) for f in (top, bottom)]
    return gaps[0] * gaps[1] < 0


def sentence(arrows: Arrows) -> str:
    """Say what the picture shows."""
    parts = [
        f"{room} imports {', '.join(sorted(below)) or 'no other room'}"
        for room, below in arrows.items()
    ]
    return "; ".join(parts) + "."


def svg_text(arrows: Arrows) -> str:
    """Draw the rooms and their arrows as SVG, for light and dark pages."""
    places = best_places(arrows)
    columns = [column for column, _ in places.values()]
    top = max(floor for _, floor in places.values())
    centre = {
        room: (HALF * (x - min(columns) + 1), FLOOR * (top - y) + 30)
        for room, (x, y) in places.items()
    }
    shapes = [line(centre[a], centre[b]) for a, b in direct(arrows)]
    shapes += [box(room, *place) for room, place in centre.items()]
    return SVG.format(
        width=HALF * (max(columns) - min(columns) + 2),
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
