"""A classic bug: a line of the model, and the line instead of it."""

import tomllib
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

from torch import nn

from gallery.planting import planted
from shapewatch.tracing.markup import code_html, html_table, pre_html
from tformer_lite.model.config import Config, tiny_translator

BUGS = Path(__file__).with_name("bugs.toml")


@dataclass(frozen=True)
class Bug:
    """One line of the model's source, and what somebody wrote instead.

    `right` is the line as it stands in `file`, `wrong` the one that
    replaces it. `incident` is where it happened: an issue or pull request
    on GitHub (owner/repository#number), or one of the book's sources, of
    which `quote` is the line that shows it. `my_right` and `my_wrong` are
    the two lines in the reader's my_transformer.py, where they are others.
    """

    name: str
    says: str
    file: str
    right: str
    wrong: str
    incident: str
    quote: str = ""
    my_right: str = ""
    my_wrong: str = ""

    def model(self, config: Config = tiny_translator) -> nn.Module:
        """Build the running model with this bug in it: the same weights.

        It runs in evaluation mode: (B, S), (B, T) -> (B, T, V). A `config`
        that chooses another part than the one with the bug gives a right
        model.
        """
        copy = planted(self.file, self.right, self.wrong)
        return copy.running.running_model(config)

    @property
    def mine(self) -> tuple[str, str]:
        """The right line in my_transformer.py, and the wrong one."""
        return self.my_right or self.right, self.my_wrong or self.wrong

    @property
    def link(self) -> str:
        """Where to read about the incident, or "" for a source."""
        at, hashtag, number = self.incident.partition("#")
        return f"https://github.com/{at}/issues/{number}" if hashtag else ""

    def __repr__(self) -> str:
        """Write the name, the lines and the incident."""
        return (
            f"{self.name}: {self.says}\n"
            f"  {self.file}.py  right  {self.right}\n"
            f"  {' ' * len(self.file)}     wrong  {self.wrong}\n"
            f"  as in {self.incident}"
        )

    def _repr_html_(self) -> str:
        """Write a real table: readable without style and without script."""
        right, wrong = code_html([self.right]) + code_html([self.wrong])
        lines = [
            ["right", pre_html(right)],
            ["wrong", pre_html(f"<mark>✗</mark> {wrong}")],
            ["where", f"{self.file}.py, as in {incident_html(self)}"],
        ]
        return html_table((self.name, escape(self.says)), lines)


def incident_html(bug: Bug) -> str:
    """Name a bug's incident, with its link if it has one."""
    where = escape(bug.incident)
    return f'<a href="{bug.link}">{where}</a>' if bug.link else where


@cache
def shelves() -> dict[str, list[Bug]]:
    """Read the gallery: a title for each shelf, and the bugs on it."""
    content = tomllib.loads(BUGS.read_text("utf8"))
    return {
        title: [Bug(name, **fields) for name, fields in bugs.items()]
        for title, bugs in content.items()
    }


def bugs() -> list[Bug]:
    """List every bug of the gallery, from the scores to the whole model."""
    return [bug for shelf in shelves().values() for bug in shelf]


def bug(name: str) -> Bug:
    """Look a bug up; ValueError for a name that is none."""
    known = {bug.name: bug for bug in bugs()}
    if name not in known:
        raise ValueError(f"{name=} is none of {', '.join(known)}.")
    return known[name]
