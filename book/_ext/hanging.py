"""Let code hang: what a line has too much goes on further in than the line.

Each line of a page's code says how far it is indented, and trace.css does the
rest. The style that a trace brings along for notebooks is that file, which
every page has already: it is taken out.
"""

import re

from sphinx.application import Sphinx

STYLE = re.compile(r"<style>.*?</style>(?=<(?:table|div) class=\"trace)")
CODE = re.compile(r'(<div class="highlight"><pre>)(.*?)(</pre>)', re.DOTALL)
TAGS = re.compile(r"<[^>]*>")
# -math.inf: a line does not end after a minus.
UNBROKEN = re.compile(
    r'<span class="o">-</span>(?:<span class="\w+">[\w.]+</span>)+'
)


def hang(app: Sphinx, page: str, template: str, context: dict, doctree):
    """Mark the lines of a page's code."""
    if body := context.get("body"):
        context["body"] = CODE.sub(marked, STYLE.sub("", body))


def marked(code: re.Match) -> str:
    """Put each line of a piece of code in a part of its own."""
    before, text, after = code.groups()
    lines = text.removeprefix("<span></span>").splitlines(keepends=True)
    return f"{before}{''.join(map(line_html, lines))}{after}"


def line_html(line: str) -> str:
    """Mark a line with its indent."""
    text = TAGS.sub("", line).rstrip("\n")
    indent = len(text) - len(text.lstrip(" "))
    style = f' style="--i:{indent}"' if indent else ""
    line = UNBROKEN.sub(r'<span class="u">\g<0></span>', line)
    return f'<span class="hang"{style}>{line}</span>'


def setup(app: Sphinx) -> dict:
    # After the names that cells import are linked, over lines.
    app.connect("html-page-context", hang, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
