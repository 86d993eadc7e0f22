"""What all command lines share: how words are read, and how a mistake is
answered, in one line."""

import argparse
import os
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn

EXIT_AT_CTRL_C = 130  # what a shell calls a program that Ctrl-C has ended
WRONG = 2


def number(text: str, least: int = 0) -> int:
    """Read a whole number."""
    if not text.isdecimal() or int(text) < least:
        says = f"{text!r} is not a whole number from {least} on"
        raise argparse.ArgumentTypeError(says)
    return int(text)


def count(text: str) -> int:
    """Read a number of things: 1 or more."""
    return number(text, 1)


class Parser(argparse.ArgumentParser):
    """A parser that answers a mistake in one line; --help says what a command
    is for, and what to try."""

    def __init__(self, about: str, examples: Sequence[str], **options: Any):
        super().__init__(
            description=textwrap.fill(about, 78),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **options,
        )
        lines = [f"  {self.prog} {words}".rstrip() for words in examples]
        self.epilog = "\n".join(["examples:", *lines])

    def add(self, name: str, about: str, **options: Any) -> None:
        """Add an option, or a word: of a text, if nothing else is said."""
        if "action" not in options:
            options.setdefault("metavar", "N" if "type" in options else "TEXT")
        self.add_argument(name, help=about, **options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where help is."""
        package = self.prog.split()[2]  # python -m PACKAGE
        self.exit(WRONG, f"{package}: {message}; see {self.prog} --help\n")


def add_commands(
    program: str,
    about: str,
    commands: Mapping[str, Callable[..., int | None]],
    examples: Mapping[str, Sequence[str]],
) -> tuple[Parser, dict[str, Parser]]:
    """Make the parser of a program, and one for each of its commands, of
    which the function's docstring is what --help says."""
    top = Parser(about, examples[""], prog=program)
    group = top.add_subparsers(metavar="COMMAND", required=True)
    parsers = {}
    for name, run_command in commands.items():
        says = " ".join(str(run_command.__doc__).split())
        line = says.split(":")[0].split(". ")[0].rstrip(".")
        parsers[name] = group.add_parser(
            name, about=says, examples=examples[name], help=line
        )
        parsers[name].set_defaults(run=run_command)
    return top, parsers


def run(place: str, argv: Sequence[str] | None = None) -> int:
    """Run one command of the command line that a module has, and give its
    exit code: its own, or 2 after an error.

    An error is one line on stderr. Ctrl-C gives 130, and a reader that has
    gone away (`| head`) ends the command without a word. A letter that the
    terminal cannot show is a question mark.
    """
    package = place.partition(".")[0]
    for stream in sys.stdout, sys.stderr:
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        options = import_module(place).read(argv)  # late: Ctrl-C counts here
        code = options.run(options)
        print(end="", flush=True)  # where there is no stdout, too
        return code or 0
    except BrokenPipeError:
        # Python flushes once more at the end: let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return WRONG
    except KeyboardInterrupt:
        text, code = "stopped", EXIT_AT_CTRL_C
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        text, code = next(iter(str(error).splitlines()), repr(error)), WRONG
    print(f"{package}: {text}", file=sys.stderr)
    return code
