"""Write what each exercise is into book/exercises.json, from the module: the
book is built without torch, and the module needs it."""

import json
from pathlib import Path

from tformer_lite.classroom.exercise import KINDS, exercises

ROOT = Path(__file__).parents[2]


def main() -> None:
    found = {
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
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    (ROOT / "book" / "exercises.json").write_text(text, "utf8")


if __name__ == "__main__":
    main()
