"""The command line: python -m classroom --help."""

import sys

from shapewatch.commands.parsing import run


def main(argv: list[str] | None = None) -> int:
    """Run one command, and give its exit code: 0, or 2 after an error, which
    is one line on stderr."""
    return run("classroom.commands", argv)


if __name__ == "__main__":
    sys.exit(main())
