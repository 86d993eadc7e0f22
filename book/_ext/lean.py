"""Leave out of a finished page what it does not use.

The theme's style sheets and scripts are made for every book. Whole scripts
go, and from the style sheets each rule for a class that no page and no script
of the book names. A script with 2,045 icons and three web fonts, 400 KB, go
too: the dozen icons that pages show are drawn into them.
"""

import re
import shutil
from hashlib import md5
from html import escape
from pathlib import Path

import tinycss2
from sphinx.application import Sphinx

# What belongs to a page only if it has something of the sort on it.
ONLY_WITH = {
    "mystnb": re.compile(r'class="[^"]*\bcell\b'),
    "clipboard": re.compile(r'class="highlight"'),
    "copybutton": re.compile(r'class="highlight"'),
    "fontawesome": re.compile("^never"),
    "bootstrap": re.compile("^never"),
}
# What Bootstrap's script does, a browser does by itself: its menu, its tips.
BY_ITSELF = {
    'data-bs-toggle="dropdown" aria-expanded="false"': 'popovertarget="menu"',
    ' class="dropdown-menu"': ' class="dropdown-menu" id="menu" popover',
    "data-bs-title=": "title=",
}
FILE_TAG = re.compile(
    r"\s*<(?:script|link)\b[^>]*_static/[^>]*>(?:</script>)?"
)
VIEWPORT = re.compile(r'\s*<meta name="viewport"[^>]*>')
CHARSET = '<meta charset="utf-8" />'
STATIC_LINK = re.compile(r'href="([^"]*)_static/book\.css')
PRELOAD = re.compile(r'\s*<link rel="preload"[^>]*>')
SCRIPT_TAG = re.compile(
    r'<script(?=[^>]* src="[^"]*_static/(?!docu|book\.js))'
)
# Its words are "Search Ctrl+K", and who says what they see should be heard.
SEARCH_LABEL = re.compile(
    r'(<button class="btn search-button-field[^>]*?) aria-label="[^"]*"'
)
NEPALI_TEXT = re.compile("[\u0900-\u097f]")
# At once, and not when the style sheets ask; a file may not be fetched so.
FONTS = """
<script>if (location.protocol !== "file:") for (const name of {names})
document.head.append(Object.assign(document.createElement("link"), {{
rel: "preload", as: "font", crossOrigin: "",
href: `{static}_static/${{name}}.woff2` }}))</script>"""
STYLE_SHEET = re.compile(
    r'<link\b(?=[^>]*\brel="stylesheet")[^>]*?\bhref="([^"?]*)[^>]*>\s*'
)
IMPORT = re.compile(r'@import "([^"]*)";')
# The theme lays out a whole page to see what scrolls; book.js asks less. What
# the function is called is another matter in each version.
TAB_STOPS = re.compile(
    r',"complete"===document\.readyState\?(\w+)\(\)'
    r':window\.addEventListener\("load",\1\)'
)
WORD = re.compile(r"[\w-]+")
CLASS = re.compile(r"\.(-?[a-zA-Z_][\w-]*)")
INNER = re.compile(r":(?:not|is|where|has)\([^()]*(?:\([^()]*\)[^()]*)*\)")
ICON_SCRIPT = "scripts/fontawesome.js"
ICON_FONTS = "vendor/fontawesome"
# bars:[448,512,["navicon"],"f0c9","M0 96C0 ..."]
ICON = re.compile(
    r'"?(?P<name>[\w-]+)"?:\[(?P<wide>\d+),(?P<high>\d+),'
    r'\[(?P<aliases>[^\]]*)\],"[0-9a-f]+","(?P<path>[^"]*)"\]'
)
ICON_PLACE = re.compile(
    r'<(?P<tag>i|span) class="(?P<class>[^"]*\bfa(?:s|-solid)\b[^"]*)"'
    r"(?P<rest>[^>]*)>\s*</(?P=tag)>"
)
ICON_KIND = re.compile(r"\bfa(?:s|-solid)\b")
ICON_SVG = (
    '<svg class="svg-inline--fa {classes}" aria-hidden="true"{rest} '
    'viewBox="0 0 {wide} {high}"><path fill="currentColor" d="{path}"/></svg>'
)
WITH_RULES = {"media", "supports", "layer"}


def light_page(page: str) -> str:
    """Give a page one viewport, and only the files that it uses; they come
    beside its text, not before it."""

    def loaded(file: re.Match) -> str:
        uses = (u for name, u in ONLY_WITH.items() if name in file[0])
        return file[0] if all(use.search(page) for use in uses) else ""

    for old, new in BY_ITSELF.items():
        page = page.replace(old, new)
    page = FILE_TAG.sub(loaded, page)
    first, end, rest = page.partition("</head>")
    if viewport := VIEWPORT.search(first):
        first = VIEWPORT.sub("", first)
        first = first.replace(CHARSET, CHARSET + viewport[0], 1)
    if static := STATIC_LINK.search(first):
        nepali = bool(NEPALI_TEXT.search(rest))
        names = ["Eczar"] + ["NotoSansDevanagari"] * nepali
        fonts = FONTS.format(names=names, static=static[1])
        first = first.replace(CHARSET, CHARSET + fonts, 1)
    head = PRELOAD.sub("", first)
    if "searchtools.js" not in head:  # it works while the page is read
        head = SCRIPT_TAG.sub(
            "<script defer", head.replace(' defer="defer"', "")
        )
    return head + end + SEARCH_LABEL.sub(r"\1", rest)


def with_one_sheet(page: str, folder: Path) -> str:
    """Write the style sheets of a page in `folder` as one: nothing is drawn
    before they have come, and each would come for itself."""
    links = STYLE_SHEET.findall(page)
    if not links or "{{" in links[0]:  # a part of a page, or a template
        return page
    text = "".join(sheet_text(folder / link) for link in links)
    root = links[0].partition("_static/")[0]
    name = f"_static/{md5(text.encode()).hexdigest()[:8]}.css"
    (folder / root / name).write_text(text, "utf8")
    start = STYLE_SHEET.search(page).start()
    link = f'<link rel="stylesheet" href="{root}{name}">\n'
    return page[:start] + link + STYLE_SHEET.sub("", page[start:])


def sheet_text(sheet: Path) -> str:
    """Read a style sheet with those that it asks for."""
    text = sheet.read_text("utf8")
    return IMPORT.sub(lambda rule: sheet_text(sheet.parent / rule[1]), text)


def light_sheet(sheet: str, words: set[str]) -> str:
    """Keep the rules of a style sheet that words of the book can meet."""
    rules = tinycss2.parse_stylesheet(sheet, True, True)
    return "".join(used_rules(rules, words))


def used_rules(rules: list, words: set[str]):
    """Write the rules that something in the book may follow."""
    for rule in rules:
        if rule.type == "qualified-rule":
            heads = used_selectors(tinycss2.serialize(rule.prelude), words)
            if heads:
                yield f"{heads}{{{tinycss2.serialize(rule.content)}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in WITH_RULES:
            inner = tinycss2.parse_rule_list(rule.content, True, True)
            if text := "".join(used_rules(inner, words)):
                prelude = tinycss2.serialize(rule.prelude)
                yield f"@{rule.at_keyword}{prelude}{{{text}}}"
        elif "Font Awesome" not in rule.serialize():
            yield rule.serialize()


def used_selectors(prelude: str, words: set[str]) -> str:
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


def words_used(folder: Path) -> set[str]:
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
    return words


def with_icons(page: str, icons: dict[str, re.Match]) -> str:
    """Put a drawing into a page wherever it names an icon."""

    def draw(icon: re.Match) -> str:
        names = re.findall(r"\bfa-([\w-]+)", icon["class"])
        drawing = next((icons[n] for n in names if n in icons), None)
        if drawing is None:
            return f'<svg><path class="missing"/>{escape(icon["class"])}</svg>'
        return ICON_SVG.format(
            classes=ICON_KIND.sub("", icon["class"]).strip(),
            rest=re.sub(r'\s+title="[^"]*"', "", icon["rest"]),
            **drawing.groupdict(),
        )

    return ICON_PLACE.sub(draw, page)


def icons_in(script: Path) -> dict[str, re.Match]:
    """Read the theme's icons; the solid ones come last in its script."""
    icons = {}
    for icon in ICON.finditer(script.read_text("utf8")):
        aliases = re.findall(r'"([a-z][^"]*)"', icon["aliases"])
        icons |= dict.fromkeys([icon["name"], *aliases], icon)
    return icons


def lighten(app: Sphinx, error: Exception | None) -> None:
    """Lighten the pages and the style sheets of a finished HTML build."""
    folder = Path(app.outdir)
    if error or app.builder.format != "html":
        return
    static = folder / "_static"
    icons = icons_in(static / ICON_SCRIPT)
    for page in folder.rglob("*.html"):
        text = with_icons(page.read_text("utf8"), icons)
        page.write_text(light_page(text), "utf8")
    for name in (ICON_SCRIPT, "scripts/bootstrap.js"):
        for script in static.glob(f"{name}*"):
            script.unlink()
    shutil.rmtree(static / ICON_FONTS)
    for source_map in folder.rglob("*.map"):
        source_map.unlink()
    words = words_used(folder)
    for sheet in folder.rglob("*.css"):
        sheet.write_text(light_sheet(sheet.read_text("utf8"), words), "utf8")
    for page in folder.rglob("*.html"):
        text = with_one_sheet(page.read_text("utf8"), page.parent)
        page.write_text(text, "utf8")
    theme = static / "scripts/pydata-sphinx-theme.js"
    theme.write_text(TAB_STOPS.sub("", theme.read_text("utf8")), "utf8")


def setup(app: Sphinx) -> dict:
    # After the theme has written the colours of code.
    app.connect("build-finished", lighten, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
