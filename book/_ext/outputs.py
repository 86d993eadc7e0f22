"""Code and what it puts out, as a page shows them.

Figures are inline SVG, with alternative text: so a figure's text is the page's
text, its colours follow the light/dark switch, and panels that stand side by
side in it wrap where a page is narrow. An SVG says itself what it shows; for
other images the first paragraph of the text/plain output beside them does.

Where a phone or a sheet has no room for a line of what is printed, its rest
goes on further in, and no shape breaks; code does so on paper, and scrolls on
a screen. The style that a trace brings along for notebooks is a file that
every page has already: it is taken out. And the line that opens a folded cell
is not called "Toggle hidden content" by all of them.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

TOGGLE = '<summary aria-label="Toggle hidden content"'
TRACE_STYLE = re.compile(r"<style>.*?</style>(?=<(?:table|div) class=\"trace)")
HIGHLIGHT = re.compile(
    r'(highlight-(\w+)[^>]*><div class="highlight"><pre>)(.*?)(?=</pre>)',
    re.DOTALL,
)
TAGS = re.compile(r"(<[^>]*>)")
# (2, 3, 8, 4) and (B, T, H·D), also where each word or letter has a tag.
GAP_HTML = '</span> <span class="pre">'
AXIS = r"[A-Z\d][A-Z\d·*~]*"
NEXT_AXIS = rf",(?:{GAP_HTML}|\s){AXIS}"
SHAPE_TEXT = re.compile(rf"\(\[?{AXIS}(?:{NEXT_AXIS}){{1,6}},?\]?\)")
SHAPE_LETTERS = re.compile(
    r'\((?=[^()]*<b class="axis)(?:</?[bcds]\w*\b[^>]*>|[\w·]|,\s)+\)'
)
TEXT = re.compile(
    "<(?:svg.*?</svg|script.*?</script|div class=.highlight-python.*?</pre)>"
    "|<[^>]*>|[^<]+",
    re.DOTALL,
)
INLINE_CODE = re.compile(r'<code(?: class="([^"]*)")?(.*?</code>)', re.DOTALL)
SHORT_CODE = 16
PERCENT = re.compile(r"(?<=\d) %(?! \d)")  # stays at its number
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
    """Let a page's code hang, keep its shapes whole, and give a page with
    matrices the script that lights their cells."""
    body = context.get("body", "")
    if "data-panels=" in body:
        app.add_js_file("linked.js", loading_method="defer")
    if body:
        body = HIGHLIGHT.sub(hanging_code, TRACE_STYLE.sub("", body))
        body = INLINE_CODE.sub(whole_code, SHAPE_LETTERS.sub(whole, body))
        body = TEXT.sub(whole_shapes, body)
        context["body"] = body.replace(TOGGLE, "<summary")


def whole_code(code: re.Match) -> str:
    """Keep short code on one line, and of longer code the shapes."""
    if len(TAGS.sub("", code[2])) > SHORT_CODE:
        return SHAPE_TEXT.sub(whole, code[0])
    words = code[2].replace(GAP_HTML, " ")
    return f'<code class="whole {code[1] or ""}"{words}'


def whole(shape: re.Match) -> str:
    return f'<span class="whole">{shape[0].replace(GAP_HTML, " ")}</span>'


def whole_shapes(part: re.Match) -> str:
    if part[0][0] == "<":
        return part[0]
    return PERCENT.sub("\u00a0%", SHAPE_TEXT.sub(whole, part[0]))


def hanging_code(code: re.Match) -> str:
    """Give each line of a piece of code a part of its own and its indent."""
    before, language, text = code.groups()
    text = text.removeprefix("<span></span>")
    if language != "python":
        text = text.replace("-&gt;", '<span class="whole">-&gt;</span>')
    html = before
    for line in text.splitlines(True):
        words = TAGS.sub("", line).rstrip("\n")
        indent = len(words) - len(words.lstrip(" "))
        html += f'<span class="hang" style="--i:{indent}">{line}</span>'
    return html


def setup(app: Sphinx) -> dict:
    app.add_post_transform(Figures)
    # After the names that cells import are linked, over lines.
    app.connect("html-page-context", lay_out, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
