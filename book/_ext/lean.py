"""Leave out of a finished page what it does not use.

The theme's style sheets and scripts are made for every book. Whole scripts
go, and from the style sheets each rule for a class that no page and no script
of the book names.
"""

import re
from pathlib import Path

import tinycss2
from sphinx.application import Sphinx

# What belongs to a page only if it has something of the sort on it.
ONLY_WITH = {
    "mystnb": re.compile(r'class="[^"]*\bcell\b'),
    "clipboard": re.compile(r'class="highlight"'),
    "copybutton": re.compile(r'class="highlight"'),
    "fontawesome": re.compile("^never"),
}
# Classes that scripts put together from parts.
MADE = {"bs-tooltip-auto", "bs-popover-auto"}
LOADED = re.compile(r"\s*<(?:script|link)\b[^>]*_static/[^>]*>(?:</script>)?")
VIEWPORT = re.compile(r'\s*<meta name="viewport"[^>]*>')
CHARSET = '<meta charset="utf-8" />'
STATIC = re.compile(r'href="([^"]*)_static/book\.css')
PRELOAD = re.compile(r'\s*<link rel="preload"[^>]*>')
SCRIPT = re.compile(r'<script(?=[^>]* src="[^"]*_static/(?!docu|book\.js))')
# Its words are "Search Ctrl+K", and who says what they see should be heard.
UNHEARD = re.compile(
    r'(<button class="btn search-button-field[^>]*?) aria-label="[^"]*"'
)
NEPALI = re.compile("[\u0900-\u097f]")
# At once, and not when the style sheets ask; a file may not be fetched so.
FONT = """
<script>if (location.protocol !== "file:") document.head.append(Object.assign(
document.createElement("link"), {{ rel: "preload", as: "font", crossOrigin: "",
href: "{}_static/NotoSansDevanagari.woff2" }}))</script>"""
WORD = re.compile(r"[\w-]+")
CLASS = re.compile(r"\.(-?[a-zA-Z_][\w-]*)")
INNER = re.compile(r":(?:not|is|where|has)\([^()]*(?:\([^()]*\)[^()]*)*\)")


def lightened(page: str) -> str:
    """Give a page one viewport, and only the files that it uses; they come
    beside its text, not before it."""

    def loaded(file: re.Match) -> str:
        uses = (u for name, u in ONLY_WITH.items() if name in file[0])
        return file[0] if all(use.search(page) for use in uses) else ""

    first, end, rest = page.partition("</head>")
    once = VIEWPORT.search(first)
    if once:
        first = VIEWPORT.sub("", first)
        first = first.replace(CHARSET, CHARSET + once[0], 1)
    if NEPALI.search(rest) and (static := STATIC.search(first)):
        font = FONT.format(static[1])
        first = first.replace(CHARSET, CHARSET + font, 1)
    head = PRELOAD.sub("", LOADED.sub(loaded, first))
    if "searchtools.js" not in head:  # it works while the page is read
        head = SCRIPT.sub("<script defer", head.replace(' defer="defer"', ""))
    return head + end + UNHEARD.sub(r"\1", rest)


def trimmed(sheet: str, words: set[str]) -> str:
    """Keep the rules of a style sheet that words of the book can meet."""
    rules = tinycss2.parse_stylesheet(sheet, True, True)
    return "".join(kept(rules, words))


def kept(rules: list, words: set[str]):
    """Write the rules that something in the book may follow."""
    for rule in rules:
        if rule.type == "qualified-rule":
            heads = split(tinycss2.serialize(rule.prelude), words)
            if heads:
                yield f"{heads}{{{tinycss2.serialize(rule.content)}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in NESTED:
            inner = tinycss2.parse_rule_list(rule.content, True, True)
            if text := "".join(kept(inner, words)):
                prelude = tinycss2.serialize(rule.prelude)
                yield f"@{rule.at_keyword}{prelude}{{{text}}}"
        elif "Font Awesome" not in rule.serialize():
            yield rule.serialize()


NESTED = {"media", "supports", "layer"}


def split(prelude: str, words: set[str]) -> str:
    """Keep those selectors of a rule whose classes are all in use."""
    depth, parts = 0, [""]
    for letter in prelude:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    used = [
        part.strip()
        for part in parts
        if set(CLASS.findall(INNER.sub("", part))) <= words
    ]
    return ",".join(used)


def named(folder: Path) -> set[str]:
    """Find every word that a page's classes or a script could name."""
    words = set()
    for page in folder.rglob("*.html"):
        text = page.read_text("utf8")
        for names in re.findall(r'class="([^"]*)"', text):
            words.update(names.split())
        for script in re.findall(
            "<script[^>]*>(.*?)</script>", text, re.DOTALL
        ):
            words.update(WORD.findall(script))
    for script in folder.rglob("*.*"):
        if script.suffix in (".js", ".mjs") and script.stem != "searchindex":
            words.update(WORD.findall(script.read_text("utf8")))
    return words | MADE


def lighten(app: Sphinx, error: Exception | None) -> None:
    """Lighten the pages and the style sheets of a finished HTML build."""
    folder = Path(app.outdir)
    if error or app.builder.format != "html":
        return
    for page in folder.rglob("*.html"):
        page.write_text(lightened(page.read_text("utf8")), "utf8")
    for made in folder.rglob("*.map"):
        made.unlink()
    words = named(folder)
    for sheet in folder.rglob("*.css"):
        sheet.write_text(trimmed(sheet.read_text("utf8"), words), "utf8")


def setup(app: Sphinx) -> dict:
    app.connect("build-finished", lighten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
