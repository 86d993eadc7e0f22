"""Measure which properties find which bugs: stored/caught.json."""

import json

from tformer_lite import bugs
from tformer_lite.gallery.catching import CAUGHT, caught


def main() -> None:
    """Write the file anew: one line for each bug."""
    rows = map(json.dumps, caught(bugs()).rows)
    CAUGHT.write_text("[\n" + ",\n".join(rows) + "\n]\n", "utf8")


if __name__ == "__main__":
    main()
