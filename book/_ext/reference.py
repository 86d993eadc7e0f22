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
from packages import ROOT
from roles import axis_html

DIRECTIVES = {ast.FunctionDef: "function", ast.ClassDef: "class"}
SIGNATURE = re.compile('<dt class="sig .*?</dt>', re.DOTALL)
MARKS = re.compile(r"[*_$<>\[\]|~]")
# (B, T, C), (1 or B, 1, T, S), (..., S): letters of axes and nothing else.
SHAPE = re.compile(r"(?<!\w)\((?:(?:\.{3}|1|[BTSHDCFV]|or|,) ?)+\)")
EXAMPLE = re.compile(r"^>>> .*?(?=\n\n(?!>>> )|\Z)", re.DOTALL | re.MULTILINE)
# What is code: between backquotes, a block, an indented line, a string.
CODE = re.compile(
    r'(`[^`]+`|^```.*?^```|^    .*?$|\w*=?"[^"\n]*")',
    re.DOTALL | re.MULTILINE,
)
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
        every = api.public_entries()
        settle(box, {e.name: f"{e.home}.{e.name}" for e in every})
        return box.children

    def entries(self) -> list[api.Entry]:
        """List the room's public names, those of the first files first."""
        room, *files = self.arguments
        every = [entry for entry in api.public_entries() if entry.room == room]
        ends = [f".{file}" for file in files]
        return sorted(
            every, key=lambda e: [not e.module.endswith(x) for x in ends]
        )


class Overview(Room):
    """A line for each name: a link, and the docstring's first words."""

    def write(self, entry: api.Entry) -> str:
        text = markup(api.docstring_of(entry).split("\n\n")[0])
        words = " ".join(text.split())
        return f"- {{py:obj}}`~{entry.home}.{entry.name}` · {words}"


class Reference(Room):
    """An entry for each name: its signature, docstring and parts."""

    def write(self, entry: api.Entry) -> str:
        kind = DIRECTIVES.get(type(entry.node), "data")
        text = markup(api.docstring_of(entry))
        if kind == "data":
            module = api.file_of(entry.module).read_text("utf8")
            code = ast.get_source_segment(module, entry.node)
            text += f"\n\n```python\n{code}\n```"
        if kind == "class":
            text += "".join(map(method_entry, api.public_methods(entry.node)))
        return ENTRY.format(
            kind=kind,
            head=entry.name + api.signature_text(entry),
            home=entry.home,
            text=text,
            source=self.source(entry),
        )

    def source(self, entry: api.Entry) -> str:
        """Link to the lines that define a name."""
        theme = self.config.html_theme_options
        file = api.file_of(entry.module).relative_to(ROOT).as_posix()
        place = f"blob/{theme['repository_branch']}/{file}"
        line = entry.node.lineno
        url = f"{theme['repository_url']}/{place}#L{line}"
        return f"[{file}]({url}){{.source}}"


def method_entry(function: ast.FunctionDef) -> str:
    """Write a method or a property of a class."""
    text = markup(ast.get_docstring(function) or "")
    decorators = [api.code_text(name) for name in function.decorator_list]
    kind, head = "method", function.name + api.call_text(function)
    if "property" in decorators:
        kind, head = "property", function.name
    return (
        f"\n\n`````{{py:{kind}}} {head}\n:no-contents-entry:\n\n{text}\n`````"
    )


def markup(docstring: str) -> str:
    """Turn a docstring into MyST: its signs stay signs, its examples are
    code, and the letters of its shapes have their colours."""
    text = EXAMPLE.sub(r"```pycon\n\g<0>\n```", docstring)
    parts = CODE.split(text)
    parts[::2] = map(plain_text, parts[::2])
    parts[1::2] = [f"`{p}`" if p[-1] == '"' else p for p in parts[1::2]]
    return "".join(parts)


def plain_text(text: str) -> str:
    """Escape what MyST would take for marks, and colour shapes."""
    text = MARKS.sub(r"\\\g<0>", text.replace(" -> ", " → "))
    span = '<span class="shape">{}</span>'
    return SHAPE.sub(lambda shape: span.format(axis_html(shape[0])), text)


def settle(box: nodes.Element, entries: dict[str, str]) -> None:
    """Lead types of ours to their entries; leave those of others as words."""
    for link in list(box.findall(addnodes.pending_xref)):
        target = link["reftarget"]
        if target in entries:
            link["reftarget"] = entries[target]
        elif target not in entries.values():
            link.replace_self(link.children)


def no_lists(_app, _page: str, _template: str, context: dict, _doctree):
    """Make lines of the list that Sphinx puts into a long signature, where
    HTML allows none."""
    if "body" in context:
        context["body"] = SIGNATURE.sub(signature_lines, context["body"])


def signature_lines(head: re.Match) -> str:
    """Write a signature's list as lines."""
    text = re.sub("<d[ld]>", '<span class="sig-line">', head[0])
    return re.sub("</d[ld]>", "</span>", text)


def setup(app: Sphinx) -> dict:
    app.add_directive("overview", Overview)
    app.add_directive("reference", Reference)
    app.connect("html-page-context", no_lists)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
