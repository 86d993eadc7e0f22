"""The command line: python -m tformer_lite --help."""

import sys

from shapewatch.commands.parsing import run


def main(argv: list[str] | None = None) -> int:
    """Run one command, and give its exit code: 0, 1 when `check` has found
    something broken, or 2 after an error, which is one line on stderr.

    `classroom` has a command line of its own: what follows goes there.
    """
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["classroom"]:
        return run("classroom.commands", words[1:])
    return run("tformer_lite.commands.arguments", words)


if __name__ == "__main__":
    sys.exit(main())
