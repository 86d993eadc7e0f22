"""Write what each exercise is into book/exercises.json, from the module: the
book is built without torch, and the module needs it."""

import json
from pathlib import Path

from classroom.exercise import KINDS, exercises

FILE = Path(__file__).parents[1] / "exercises.json"


def main() -> None:
    """Write the file anew, if what it says is not so any more."""
    text = json.dumps(listed(), indent=1, ensure_ascii=False) + "\n"
    if not FILE.exists() or FILE.read_text("utf8") != text:
        print(f"listing {FILE.name}", flush=True)
        FILE.write_text(text, "utf8")


def listed() -> dict[str, dict]:
    """Say of each exercise what a page shows."""
    return {
        name: {
            "chapter": each.chapter,
            "title": each.title,
            "kind": KINDS[each.kind],
            "minutes": each.minutes,
            "level": each.level,
            "assignable": each.assignable,
            "teaches": each.teaches,
        }
        for name, each in exercises().items()
    }


if __name__ == "__main__":
    main()
