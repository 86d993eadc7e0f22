"""Command lines as data: commands, their options, and what --help says."""

import argparse
import os
import sys
import textwrap
from argparse import SUPPRESS, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NoReturn

EXIT_AT_CTRL_C = 130  # what a shell calls a program that Ctrl-C has ended
WRONG = 2
SHAPES = {None: "{}", "?": "[{}]", "*": "[{}...]", "+": "{}..."}


def number(text: str, least: int = 0) -> int:
    """Read a whole number."""
    if int(text) < least:
        raise argparse.ArgumentTypeError(f"{text} is less than {least}")
    return int(text)


def count(text: str) -> int:
    """Read a number of things: 1 or more."""
    return number(text, 1)


COUNT, WHOLE_NUMBER = (
    {"type": one, "metavar": "N"} for one in (count, number)
)
TEXT, FLAG = {"metavar": "TEXT"}, {"action": "store_true"}
# By name: how argparse reads an option, and what it is.
Options = Mapping[str, tuple[dict[str, Any], str]]


@dataclass(frozen=True)
class Command:
    """A command: the function that it calls, whose docstring is what --help
    says; its options and their defaults; the word in it that is no option,
    how often that may stand there, and what it is."""

    run: Callable[[Namespace], int | None]
    defaults: Mapping[str, Any]
    operand: tuple[str, str | None, str] = ("", None, "")


@dataclass(frozen=True)
class Program:
    """A command line: how it is called, what it is for, its commands and all
    their options; and what to try, by command, "" for the whole.

    `groups` of commands have names and purposes, too; `more` gives further
    lines of what to try; `title_of` names what --help puts an option under;
    of `rivals`, one option alone may be typed.
    """

    name: str
    about: str
    commands: Mapping[str, Command]
    options: Options
    examples: Mapping[str, Sequence[str]]
    groups: Mapping[str, str] = field(default_factory=dict)
    more: Callable[[str], list[str]] = lambda name: []
    title_of: Callable[[str], str | None] = lambda name: None
    rivals: Sequence[str] = ()


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where help is."""
        package = self.prog.split()[2]  # python -m PACKAGE
        self.exit(2, f"{package}: {message}; see {self.prog} --help\n")


def read_command(
    program: Program, argv: Sequence[str] | None = None
) -> Namespace:
    """Read a command and its options: `run` is what to call, `given` has
    the options that were typed, `defaults` what they are unless typed."""
    given = vars(parser_of(program).parse_args(argv))
    defaults = given.pop("defaults")
    both = {"given": given, "defaults": defaults}
    return Namespace(**defaults | given, **both)


def parser_of(program: Program) -> Parser:
    """Describe every command, and those within a group of them."""
    texts = help_texts(program, "", program.about)
    top = Parser(prog=program.name, **texts)
    every = top.add_subparsers(metavar="COMMAND", required=True)
    groups = {"": every}
    for name, about in program.groups.items():
        texts = help_texts(program, name, about)
        kinds = add_command(every, program, name, "KIND ...", texts)
        groups[name] = kinds.add_subparsers(metavar="KIND", required=True)
    for name, command in program.commands.items():
        word, nargs, about = command.operand
        sign = word.upper().rstrip("S")
        usage = f"[OPTION...] {SHAPES[nargs].format(sign)}".rstrip()
        texts = help_texts(program, name, str(command.run.__doc__))
        group = groups[name.rpartition(" ")[0]]
        parser = add_command(group, program, name, usage, texts)
        if word:
            parser.add_argument(word, metavar=sign, nargs=nargs, help=about)
        add_options(parser, program, command.defaults)
        left_out = {keyword(n): x for n, x in command.defaults.items()}
        parser.set_defaults(run=command.run, defaults=left_out)
    return top


def add_command(
    group: Any, program: Program, name: str, usage: str, texts: dict[str, Any]
) -> Parser:
    """Add a command to those beside it."""
    about = texts["description"].replace("\n", " ")
    return group.add_parser(
        name.split()[-1],
        help=about.split(":")[0].split(". ")[0].rstrip("."),
        allow_abbrev=False,
        prog=f"{program.name} {name}",
        usage=f"%(prog)s {usage}",
        **texts,
    )


def help_texts(program: Program, name: str, about: str) -> dict[str, Any]:
    """What --help says first and last: the purpose, and what to try."""
    words = [f"{name} {typed}".strip() for typed in program.examples[name]]
    lines = [f"  {program.name} {typed}".rstrip() for typed in words]
    return {
        "description": textwrap.fill(" ".join(about.split()), 78),
        "epilog": "\n".join(["examples:", *lines, *program.more(name)]),
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


def add_options(
    parser: Parser, program: Program, defaults: Mapping[str, Any]
) -> None:
    """Add options, as `--d_model 128`, that are left out unless typed, each
    under its title."""
    rivals = parser.add_mutually_exclusive_group()
    groups: dict[str | None, Any] = {None: parser}
    groups |= dict.fromkeys(program.rivals, rivals)
    for name, default in defaults.items():
        title = name if name in groups else program.title_of(name)
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        how, text = program.options[name]
        if default is not None and how is not FLAG:
            shown = default if isinstance(default, tuple) else [default]
            text += f" (default: {' '.join(map(str, shown))})"
        sign = f"--{name.split()[-1]}"
        groups[title].add_argument(sign, default=SUPPRESS, help=text, **how)


def keyword(name: str) -> str:
    """Write an option's name as Python reads it."""
    return name.split()[-1].replace("-", "_")


def run(place: str, argv: Sequence[str] | None = None) -> int:
    """Run one command of the command line that a module has, and give its
    exit code: its own, or 2 after an error.

    An error is one line on stderr. Ctrl-C gives 130, and a reader that has
    gone away (`| head`) ends the command without a word.
    """
    package = place.partition(".")[0]
    try:
        options = import_module(place).read(argv)  # Ctrl-C may come
        code = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at the end: let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return WRONG
    except KeyboardInterrupt as stop:
        return complain(package, str(stop) or "stopped", EXIT_AT_CTRL_C)
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        return complain(package, one_line(error), WRONG)
    return code or 0


def one_line(error: BaseException) -> str:
    """Put an error into one line; the system's begin with the file."""
    if isinstance(error, OSError) and error.strerror:
        return ": ".join(filter(None, (error.filename, error.strerror)))
    return next(iter(str(error).splitlines()), type(error).__name__)


def complain(package: str, text: str, code: int) -> int:
    """Say what went wrong; of several processes, the first one does."""
    if os.environ.get("RANK", "0") == "0":
        print(f"{package}: {text}", file=sys.stderr)
    return code
