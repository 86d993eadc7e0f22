"""Measure which properties find which bugs: gallery/caught.json."""

import json

from gallery import bugs
from gallery.catching import CATCHES_FILE, plant_and_report


def main() -> None:
    """Write the file anew: one line for each bug."""
    rows = map(json.dumps, plant_and_report(bugs()).rows)
    CATCHES_FILE.write_text("[\n" + ",\n".join(rows) + "\n]\n", "utf8")


if __name__ == "__main__":
    main()
