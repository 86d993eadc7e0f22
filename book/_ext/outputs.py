"""Code and what it puts out, as a page shows them.

Figures are inline SVG, with alternative text: so a figure's text is the page's
text, its colours follow the light/dark switch, and panels that stand side by
side in it wrap where a page is narrow. An SVG says itself what it shows; for
other images the first paragraph of the text/plain output beside them does.

What a line of code has too much goes on further in than the line: each line
says how far it is indented, and trace.css does the rest. The style that a
trace brings along for notebooks is that file, which every page has already:
it is taken out. And the line that opens a folded cell is called what it says:
myst-nb names each of them "Toggle hidden content" for screen readers.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

TOGGLE = '<summary aria-label="Toggle hidden content"'
TRACE_STYLE = re.compile(r"<style>.*?</style>(?=<(?:table|div) class=\"trace)")
HIGHLIGHT = re.compile(
    r'(<div class="highlight"><pre>)(.*?)(</pre>)', re.DOTALL
)
TAGS = re.compile(r"<[^>]*>")
# -math.inf, ->: a line does not end after a minus.
UNBROKEN = re.compile(
    r'<span class="o">-</span>(?:<span class="\w+">[\w.]+</span>)+|-&gt;'
)
# A long run of names ends behind a bracket or =, or before a dot.
RUN = re.compile(r"(?:<[^>]*>|[^\s<])+")
JOINT = re.compile(r'(?<=[(\[=~]</span>)|(?=<span class="o">\.)')
NARROW = 20  # letters that each line has on a phone, whatever its indent

ITS_OWN = r' (xmlns(:xlink)?|width|height|viewBox)="[^"]*"'  # an SVG's alone


class Figures(SphinxPostTransform):
    # Before myst-nb chooses one of the output's faces, and before Sphinx
    # collects the images.
    default_priority = 1

    def run(self) -> None:
        for bundle in self.document.findall(nodes.container):
            faces = {face.get("mime_type"): face for face in bundle.children}
            words = faces.get("text/plain")
            if words is None:
                continue
            alt = words.astext().split("\n\n")[0].replace("\n", " ")
            for image in list(bundle.findall(nodes.image)):
                image["alt"] = alt
            if "image/svg+xml" in faces and self.app.builder.format == "html":
                image = next(faces["image/svg+xml"].findall(nodes.image))
                image.replace_self(self.inline(image))

    def inline(self, image: nodes.image) -> nodes.raw:
        """Read the drawing that myst-nb stored."""
        svg = Path(self.app.srcdir, image["uri"].lstrip("/")).read_text("utf8")
        return nodes.raw("", figure(svg), format="html")


def figure(svg: str) -> str:
    """Make a figure of a drawing: one of several panels is a box of theirs,
    in which the style sheet places them."""
    svg = svg.replace("<svg ", '<svg class="figure" ', 1)
    if svg.count('<svg class="panel"') < 2:
        return svg
    start, inside = svg.removesuffix("</svg>").split(">", 1)
    start = re.sub(ITS_OWN, "", start)
    inside = re.sub(r'(<svg class="panel") x="\S+" y="\S+"', r"\1", inside)
    return f"{start.replace('<svg', '<div', 1)}>{inside}</div>"


def lay_out(app: Sphinx, _page: str, _template, context: dict, _doctree):
    """Let a page's code hang, and give a page with matrices the script that
    lights their cells."""
    body = context.get("body", "")
    if "data-panels=" in body:
        app.add_js_file("linked.js", loading_method="defer")
    if body:
        body = HIGHLIGHT.sub(hanging_code, TRACE_STYLE.sub("", body))
        context["body"] = body.replace(TOGGLE, "<summary")


def hanging_code(code: re.Match) -> str:
    """Put each line of a piece of code in a part of its own."""
    before, text, after = code.groups()
    lines = text.removeprefix("<span></span>").splitlines(keepends=True)
    return f"{before}{''.join(map(line_html, lines))}{after}"


def line_html(line: str) -> str:
    """Mark a line with its indent, and where its long runs may end."""
    text = TAGS.sub("", line).rstrip("\n")
    indent = len(text) - len(text.lstrip(" "))
    style = f' style="--i:{indent}"' if indent else ""
    line = UNBROKEN.sub(r'<span class="u">\g<0></span>', line)

    def joined(run: re.Match) -> str:
        long = len(TAGS.sub("", run[0])) + indent > NARROW
        return JOINT.sub("<wbr>", run[0]) if long else run[0]

    line = RUN.sub(joined, line)
    return f'<span class="hang"{style}>{line}</span>'


def setup(app: Sphinx) -> dict:
    app.add_post_transform(Figures)
    # After the names that cells import are linked, over lines.
    app.connect("html-page-context", lay_out, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
