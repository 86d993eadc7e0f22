"""Link code that is a public name, `heatmap`, to its entry in the reference.

On a page the first mention is linked, in an entry of the reference the first
of each other name; and the names that a cell imports. Notebooks stay as they
are: their names are plain code.
"""

import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode, traverse_parent

sys.path.append(str(Path(__file__).parents[1] / "_tools"))
from packages import PACKAGES

# Where a link would be lost, or one within another.
NO_PLACE = nodes.reference, nodes.title, nodes.table, addnodes.desc_signature
GAP = r'(?:<span class="w"> </span>| )'
IMPORT_LINE = re.compile(
    rf'(?<=>from</span>){GAP}<span class="nn">'
    rf"(?:{'|'.join(PACKAGES)})[\w.]*</span>"
    rf'{GAP}<span class="kn">import</span>(?:\s|<span class="w"> *</span>'
    r'|<span class="[np]">[\w,()]+</span>)+'
)
NAME_SPAN = re.compile(r'<span class="n">(\w+)</span>')


def entries(app: Sphinx) -> dict[str, tuple[str, str]]:
    """Map each public name to the page and the place of its entry."""
    objects = app.env.get_domain("py").objects
    return {
        name.split(".")[-1]: (entry.docname, entry.node_id)
        for name, entry in sorted(objects.items())  # tformer_lite's come last
        if entry.objtype not in ("method", "property")
    }


def link_mentions(app: Sphinx, page: nodes.document, docname: str) -> None:
    """Link the first mention of each name, on the page or in each entry."""
    places = entries(app)
    for scope in list(page.findall(addnodes.desc)) or [page]:
        own_names = {name.astext() for name in scope.findall(is_own)}
        left = {name: places[name] for name in places.keys() - own_names}
        for code in list(scope.findall(nodes.literal)):
            name = code.astext().removesuffix("()")
            if name in left and not any(traverse_parent(code, NO_PLACE)):
                link(app, code, docname, *left.pop(name))


def is_own(node: nodes.Node) -> bool:
    """Tell whether a node is the name of an entry or of a parameter."""
    kinds = addnodes.desc_name, addnodes.desc_sig_name
    return isinstance(node, kinds) and not isinstance(
        node.parent, addnodes.pending_xref
    )


def link(app: Sphinx, code: nodes.literal, here: str, page: str, place: str):
    """Put a link around a piece of code."""
    target = make_refnode(app.builder, here, page, place, code.deepcopy())
    code.replace_self(target)


def link_imports(app: Sphinx, page: str, _template, context: dict, doctree):
    """Link the names that a page's cells import from the package."""
    if doctree is None:
        return
    places = entries(app)

    def linked(name: re.Match) -> str:
        if name[1] not in places:
            return name[0]
        home, place = places[name[1]]
        url = app.builder.get_relative_uri(page, home)
        return f'<a class="name" href="{url}#{place}">{name[0]}</a>'

    context["body"] = IMPORT_LINE.sub(
        lambda line: NAME_SPAN.sub(linked, line[0]), context["body"]
    )


def setup(app: Sphinx) -> dict:
    app.connect("doctree-resolved", link_mentions)
    app.connect("html-page-context", link_imports)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
