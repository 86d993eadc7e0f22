"""Tell which rooms of our packages import which; small packages are one."""

import ast
from pathlib import Path

from packages import PACKAGES, WITH_ROOMS

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
