"""Write what a room of our packages offers: ```{overview} model lists its
names, ```{reference} model has an entry for each.

Names, signatures and docstrings are read, not imported: `book/_tools/api.py`
does that. Behind the room stand the files whose names come first.
"""

import ast
import re
import sys
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

sys.path.append(str(Path(__file__).parents[1] / "_tools"))
import api
from docstrings import marked
from packages import ROOT

KINDS = {ast.FunctionDef: "function", ast.ClassDef: "class"}
HEAD = re.compile('<dt class="sig .*?</dt>', re.DOTALL)
ENTRY = """
``````{{py:{kind}}} {head}
:module: {home}

{text}

{source}
``````
"""


class Room(SphinxDirective):
    """What both directives do: write MyST for a room, and parse it."""

    required_arguments = 1
    optional_arguments = 9

    def run(self) -> list[nodes.Node]:
        lines = "\n".join(map(self.write, self.entries())).splitlines()
        box = nodes.container()
        source = StringList(lines, source=self.get_source_info()[0])
        self.state.nested_parse(source, self.content_offset, box)
        settle(box, {e.name: f"{e.home}.{e.name}" for e in api.entries()})
        return box.children

    def entries(self) -> list[api.Entry]:
        """List the room's public names, those of the first files first."""
        room, *files = self.arguments
        every = [entry for entry in api.entries() if entry.room == room]
        return sorted(every, key=lambda entry: rank(entry.module, files))


class Overview(Room):
    """A line for each name: a link, and the docstring's first words."""

    def write(self, entry: api.Entry) -> str:
        text = marked(api.docstring(entry).split("\n\n")[0])
        words = " ".join(text.split())
        return f"- {{py:obj}}`~{entry.home}.{entry.name}` · {words}"


class Reference(Room):
    """An entry for each name: its signature, docstring and parts."""

    def write(self, entry: api.Entry) -> str:
        kind = KINDS.get(type(entry.node), "data")
        text = marked(api.docstring(entry))
        if kind == "data":
            text += f"\n\n```python\n{value(entry)}\n```"
        if kind == "class":
            text += "".join(map(part, api.methods(entry.node)))
        return ENTRY.format(
            kind=kind,
            head=entry.name + api.signature(entry),
            home=entry.home,
            text=text,
            source=self.source(entry),
        )

    def source(self, entry: api.Entry) -> str:
        """Link to the lines that define a name."""
        theme = self.config.html_theme_options
        file = api.path(entry.module).relative_to(ROOT).as_posix()
        place = f"blob/{theme['repository_branch']}/{file}"
        line = entry.node.lineno
        url = f"{theme['repository_url']}/{place}#L{line}"
        return f"[{file}]({url}){{.source}}"


def rank(module: str, first: list[str]) -> int:
    """Tell which of the first files a module is; the others come after."""
    found = [module.endswith(f".{file}") for file in first]
    return found.index(True) if any(found) else len(first)


def part(function: ast.FunctionDef) -> str:
    """Write a method or a property of a class."""
    text = marked(ast.get_docstring(function) or "")
    decorators = [api.code(one) for one in function.decorator_list]
    kind, head = "method", function.name + api.call(function)
    if "property" in decorators:
        kind, head = "property", function.name
    return (
        f"\n\n`````{{py:{kind}}} {head}\n:no-contents-entry:\n\n{text}\n`````"
    )


def value(entry: api.Entry) -> str:
    """Give the lines that make a value."""
    lines = api.path(entry.module).read_text("utf8").splitlines()
    return "\n".join(lines[entry.node.lineno - 1 : entry.node.end_lineno])


def settle(box: nodes.Element, known: dict[str, str]) -> None:
    """Lead types of ours to their entries; leave those of others as words."""
    for link in list(box.findall(addnodes.pending_xref)):
        target = link["reftarget"]
        if target in known:
            link["reftarget"] = known[target]
        elif target not in known.values():
            link.replace_self(link.children)


def no_lists(_app, _page: str, _template: str, context: dict, _doctree):
    """Make lines of the list that Sphinx puts into a long signature, where
    HTML allows none."""
    if "body" in context:
        context["body"] = HEAD.sub(lines, context["body"])


def lines(head: re.Match) -> str:
    """Write a signature's list as lines."""
    text = re.sub("<d[ld]>", '<span class="sig-line">', head[0])
    return re.sub("</d[ld]>", "</span>", text)


def setup(app: Sphinx) -> dict:
    app.add_directive("overview", Overview)
    app.add_directive("reference", Reference)
    app.connect("html-page-context", no_lists)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
