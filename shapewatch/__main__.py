"""The command line: python -m shapewatch --help."""

import sys

from shapewatch.commands.parsing import run


def main(argv: list[str] | None = None) -> int:
    """Run one command, and give its exit code: 0, 1 when `check` has found
    something broken, or 2 after an error, which is one line on stderr."""
    return run("shapewatch.commands.running", argv)


if __name__ == "__main__":
    sys.exit(main())
