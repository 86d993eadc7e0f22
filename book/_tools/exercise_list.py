"""Write what each exercise is into book/exercises.json, from the module: the
book is built without torch, and the module needs it."""

import json
from pathlib import Path

from classroom.exercise import KINDS, exercises

EXERCISES_FILE = Path(__file__).parents[1] / "exercises.json"


def main() -> None:
    """Write the file anew, if what it says is not so any more."""
    text = json.dumps(exercise_data(), indent=1, ensure_ascii=False) + "\n"
    if not EXERCISES_FILE.exists() or EXERCISES_FILE.read_text("utf8") != text:
        print(f"listing {EXERCISES_FILE.name}", flush=True)
        EXERCISES_FILE.write_text(text, "utf8")


def exercise_data() -> dict[str, dict]:
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
