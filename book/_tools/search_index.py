"""Index the built book for its search: each section by itself, so that the
search leads to the place and not to the top of a long page; and each question
that the book lists, which leads to the section that answers it.

Pagefind's own program does the work: nothing is fetched.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from bs4 import BeautifulSoup, Tag

# What is no text of a section: outputs, links of headings, set-up.
FURNITURE = "script, style, .headerlink, .colab, .cell_output, .tag_setup"
# Sections, and the folded parts that have a name of their own; and questions.
NAMED_PARTS = "section[id], details[id]"
ASKS = "book/questions"
# A word in a title, or in code, counts as much as so many in the text; where a
# page sums up or lists, as much as so many in a chapter.
TITLE_WEIGHT, CODE_WEIGHT = 3, 0.3
WEIGHTS = {
    "/sources": 0.1,
    "/exercises": 0.3,
    "/what-we-": 0.5,
    "/for-later": 0.5,
    "book/names": 0.3,
    "book/": 0.5,
    "": 1.0,
}
# As typed, name=value is one word, between thin spaces. Pagefind drops signs,
# but not these: the minus is no hyphen.
NAME_VALUE = re.compile(r"(?<![\w=.])[A-Za-z_]\w*=−?\w[\w.]*")
SIGNS = "=−"
BREAKS = "<(br|p|li|t[dhr]|d[dt]|div|pre|h[1-6])\\b"  # between words
# What parts of a formula become in a line of text.
SUM = re.compile(r"\w\W|[^√\w]\w")  # or a product: in brackets in a power
LINES = {"mfrac": "{}/{}", "msqrt": "√{}", "msup": "{}^{}", "msub": "{}_{}"}


def records(page: str, html: str) -> Iterator[tuple[str, str]]:
    """Cut a page into little pages, one for each section or question, by
    their paths: that of page.html#name is page/name."""
    html = re.sub("<svg.*?</svg>|<wbr/?>", "", html, flags=re.DOTALL)
    soup = BeautifulSoup(re.sub(BREAKS, r" \g<0>", html), "html.parser")
    for part in soup.select(FURNITURE):
        part.decompose()
    for formula in soup.select("math"):
        formula.replace_with(line_of(formula))
    if article := soup.select_one("article"):
        yield from (questions if page == ASKS else sections)(article, page)


def questions(article: Tag, _page: str) -> Iterator[tuple[str, str]]:
    """Take each question, with its answer, to the section that shows more."""
    for number, term in enumerate(article.select("dt")):
        answer = term.find_next_sibling("dd")
        link = answer.select("a[href*='#']")[-1].extract()
        place = link["href"].removeprefix("../").replace(".html#", "/")
        yield f"{place}.{number}", record(1, *map(plain, (link, term, answer)))


def sections(article: Tag, page: str) -> Iterator[tuple[str, str]]:
    """Take the innermost first, so that what is left of each is its own."""
    name = plain(article.select_one("h1") or article)
    for part in reversed(article.select(NAMED_PARTS)):
        part.extract()
        path = f"{page}/{part['id']}"
        weight = next(x for key, x in WEIGHTS.items() if key in path)
        code = " ".join(plain(pre.extract()) for pre in part.select("pre"))
        head = part.select_one("h1, h2, h3, summary")
        title = plain(head.extract()) if head else name
        yield path, record(weight, name, title, plain(part), code)


def record(weight: float, page: str, title: str, *texts: str) -> str:
    """Write a page of its own, whose words weigh as much as they should."""
    inside = f'<p data-pagefind-meta="page[title]" title="{escape(page)}"></p>'
    shares = (TITLE_WEIGHT, 1, CODE_WEIGHT)
    for kind, text, share in zip(("h1", "p", "p"), (title, *texts), shares):
        text = re.sub(r"(?<=\w=)-(?=\w)", "−", escape(text))
        text = NAME_VALUE.sub("\u200a\\g<0>\u200a", text)
        weighed = f'data-pagefind-weight="{weight * share:.2f}"'
        inside += f"<{kind} {weighed}>{text}</{kind}>"
    return f'<html lang="en"><body>{inside}</body></html>'


def plain(part: Tag) -> str:
    """Give the text of a part in one line."""
    return " ".join(part.get_text().split())


def line_of(formula: Tag | str) -> str:
    """Write a formula in one line, as in (QK^⊤)/√D."""
    if isinstance(formula, str):
        return formula.strip()
    parts = list(filter(None, map(line_of, formula.children)))
    if formula.name not in LINES:
        return "".join(parts)
    parts = [f"({x})" if SUM.search(x) else x for x in parts]
    return LINES[formula.name].format(*parts)


def index(built: Path) -> None:
    """Write the index of a built book into its folder `pagefind`, with a list
    of its words, the most frequent first, for those who mistype one."""
    target, words = built / "pagefind", Counter[str]()
    with TemporaryDirectory() as folder:
        for page in sorted(built.rglob("*.html")):
            name = page.relative_to(built).with_suffix("").as_posix()
            for path, text in records(name, page.read_text("utf8")):
                file = Path(folder, f"{path}.html")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf8")
                text = re.sub("<.*?>|-", "", text).lower()
                words.update(re.findall(r"[^\W\d_]{4,}", text))
        options = "--site", folder, "--output-path", target, "--quiet"
        pagefind = sys.executable, "-m", "pagefind", *options
        subprocess.run([*pagefind, "--include-characters", SIGNS], check=True)
    for file in target.glob("pagefind-*ui*"):
        file.unlink()  # the book has a page of its own for its search
    often = json.dumps([word for word, _ in words.most_common()])
    target.joinpath("words.json").write_text(often, "utf8")


if __name__ == "__main__":
    index(Path(sys.argv[1]))
