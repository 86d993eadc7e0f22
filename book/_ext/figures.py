"""Put a notebook's figures into the page: inline SVG, with alternative text.

Inline, a figure's text is the page's text and its colours follow the
light/dark switch, and panels that stand side by side in it wrap where a page
is narrow. An SVG says itself what it shows; for other images the first
paragraph of the text/plain output beside them does.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

ITS_OWN = r' (xmlns(:xlink)?|width|height|viewBox)="[^"]*"'  # an SVG's alone


class Figures(SphinxPostTransform):
    # Before myst-nb chooses one of the output's faces, and before Sphinx
    # collects the images.
    default_priority = 1

    def run(self) -> None:
        for bundle in self.document.findall(is_output):
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


def is_output(node: nodes.Node) -> bool:
    return (
        isinstance(node, nodes.container)
        and node.get("nb_element") == "mime_bundle"
    )


def link(
    app: Sphinx, page: str, template: str, context: dict, tree: object
) -> None:
    """Give a page with matrices the script that lights their cells."""
    if "data-panels=" in context.get("body", ""):
        app.add_js_file("linked.js", loading_method="defer")


def setup(app: Sphinx) -> dict:
    app.add_post_transform(Figures)
    app.connect("html-page-context", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
