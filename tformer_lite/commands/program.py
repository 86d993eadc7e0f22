"""Command lines as data: commands, their options, and what --help says."""

import argparse
import textwrap
from argparse import SUPPRESS, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NoReturn

from shapewatch.commands.parsing import (
    WRONG,
    count,
    likely,
    number,
    some_text,
)

TEXT_AFTER = "; if it is a text, write -- before it"
SHAPES = {None: "{}", "?": "[{}]", "*": "[{}...]", "+": "{}..."}


COUNT, WHOLE_NUMBER = (
    {"type": one, "metavar": "N"} for one in (count, number)
)
TEXT, FLAG = {"type": some_text, "metavar": "TEXT"}, {"action": "store_true"}
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

    `groups` of commands have names and purposes, too; `titles` name what
    --help puts an option under; of `rivals`, one option alone may be typed.
    """

    name: str
    about: str
    commands: Mapping[str, Command]
    options: Options
    examples: Mapping[str, Sequence[str]]
    groups: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    rivals: Sequence[str] = ()


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line, and what may be meant."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where help is."""
        package = self.prog.split()[2]  # python -m PACKAGE
        self.exit(WRONG, f"{package}: {message}; see {self.prog} --help\n")

    def parse_known_args(self, *args: Any, **named: Any) -> Any:
        """Read what was typed; what is left over then is an error."""
        found, others = super().parse_known_args(*args, **named)
        if others:
            self.error(self.left_over(others))
        return found, others

    def left_over(self, words: list[str]) -> str:
        """Say which words are no options, or are too many."""
        known = self._option_string_actions
        names = [x.partition("=")[0] for x in words if x.startswith("-")]
        if wrong := [x for x in names if x not in {"--", *known}]:
            texts = [f"{name}{likely(name, known)}" for name in wrong]
            says = f"no such option: {', '.join(texts)}"
            return says + TEXT_AFTER * (texts == wrong)
        typed = " ".join(words)
        return f"more words than are read, {typed!r}: put a text in quotes"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise argparse's error for what is no choice, with what is near."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += likely(value, action.choices or ())
            raise


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
    top = Parser(prog=program.name, **help_texts(program, "", program.about))
    packages = program.name.split()[2], "torch"
    versions = (f"{x} {import_module(x).__version__}" for x in packages)
    text = ", ".join(versions)
    top.add_argument("--version", action="version", version=text)
    groups = {"": top.add_subparsers(metavar="COMMAND", required=True)}
    for name, about in program.groups.items():
        kinds = add_command(groups[""], program, name, "KIND ...", about)
        groups[name] = kinds.add_subparsers(metavar="KIND", required=True)
    for name, command in program.commands.items():
        word, nargs, about = command.operand
        sign = word.upper().rstrip("S")
        usage = f"[OPTION...] {SHAPES[nargs].format(sign)}".rstrip()
        group, purpose = groups[name.rpartition(" ")[0]], command.run.__doc__
        parser = add_command(group, program, name, usage, str(purpose))
        if word:
            parser.add_argument(word, metavar=sign, nargs=nargs, help=about)
        add_options(parser, program, command.defaults)
        left_out = {keyword(n): x for n, x in command.defaults.items()}
        parser.set_defaults(run=command.run, defaults=left_out)
    return top


def add_command(
    group: Any, program: Program, name: str, usage: str, about: str
) -> Parser:
    """Add a command to those beside it."""
    line = about.replace("\n", " ").split(":")[0].split(". ")[0]
    return group.add_parser(
        name.split()[-1],
        help=" ".join(line.rstrip(".").split()),
        prog=f"{program.name} {name}",
        usage=f"%(prog)s {usage}",
        **help_texts(program, name, about),
    )


def help_texts(program: Program, name: str, about: str) -> dict[str, Any]:
    """What --help says first and last: the purpose, and what to try."""
    words = [f"{name} {typed}".strip() for typed in program.examples[name]]
    lines = [f"  {program.name} {typed}".rstrip() for typed in words]
    return {
        "description": textwrap.fill(" ".join(about.split()), 78),
        "epilog": "\n".join(["examples:", *lines]),
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
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
        title = name if name in groups else program.titles.get(name)
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


TRACE_OPTIONS: Options = {
    "path": (TEXT, "print every call in this module; * is anything"),
    "json": (TEXT, "a file to write all to, as JSON; - is the screen"),
    "calls": (FLAG, "print every torch call, not the modules"),
    "depth": (COUNT, "levels of modules to print, if not what fits a screen"),
}
TRACE_DEFAULTS = dict.fromkeys(TRACE_OPTIONS) | {"calls": False}
