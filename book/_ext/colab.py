"""Put a link under each chapter's title that opens the chapter in Colab."""

from html import escape

from sphinx.application import Sphinx

COLAB = "https://colab.research.google.com/github"


def add_link(app: Sphinx, page: str, _template, context: dict, doctree):
    """Write the link into the page's body, where no search looks."""
    if doctree is None or not page.startswith("chapters/"):
        return
    options = app.config.html_theme_options
    repository = options["repository_url"].removeprefix("https://github.com/")
    branch = options["repository_branch"]
    url = escape(f"{COLAB}/{repository}/blob/{branch}/{page}.ipynb")
    link = f'<a href="{url}">Run this chapter in Colab</a>'
    title = f'</h1>\n<p class="colab">{link}</p>'
    context["body"] = context["body"].replace("</h1>", title, 1)


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", add_link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
