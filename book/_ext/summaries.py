"""Let the line that opens a folded cell be called what it says.

myst-nb names each of them "Toggle hidden content" for screen readers, which
then never read the cell's own words.
"""

from sphinx.application import Sphinx

NAME = ' aria-label="Toggle hidden content"'


def drop_name(_app, _page: str, _template: str, context: dict, _doctree):
    if "body" in context:
        context["body"] = context["body"].replace(
            f"<summary{NAME}", "<summary"
        )


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", drop_name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
