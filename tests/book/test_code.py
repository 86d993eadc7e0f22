"""Code in the pages: it hangs where a line is too long, can be read and
copied, and brings no style along that the pages have already."""

import re

import pytest

from shapewatch.tracing.markup import CSS
from tests.helpers.browser import CHAPTERS, HTML, PHONE
from tests.helpers.colours import contrast, rgb

full = pytest.mark.full
# Of each line: how far further in than the line itself its rest begins.
HANGING = """lines => lines.filter(x => x.checkVisibility()).map(line => {
    const ruler = document.createElement("span");
    ruler.textContent = "0".repeat(10);
    ruler.style = "position: absolute; text-indent: 0";
    line.append(ruler);
    const ch = ruler.getBoundingClientRect().width / 10;
    ruler.remove();
    const range = document.createRange();
    range.selectNodeContents(line);
    const rows = [...range.getClientRects()].filter(box => box.width > 0);
    const top = Math.min(...rows.map(box => box.bottom));
    const start = line.getBoundingClientRect().left;
    const rest = rows.filter(box => box.bottom > top + 5)
        .map(box => (box.left - start) / ch);
    const { length } = line.textContent.match(/^ */)[0];
    return [line.textContent, Math.min(...rest, 1e9) - length];
})"""


@full
@pytest.mark.parametrize("lines", ["pre .hang", ".trace pre"])
def test_no_line_goes_on_left_of_where_it_begins(visit, lines):
    page = visit(CHAPTERS[18], "light", PHONE).page
    page.eval_on_selector_all("details", "all => all.map(x => x.open = true)")
    rests = page.eval_on_selector_all(lines, HANGING)
    wrapped = [line for line in rests if line[1] < 1e8]
    assert len(wrapped) > 20
    assert [line for line in wrapped if line[1] < 2.9] == []


@full
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_page_has_the_style_of_its_traces_once(chapter):
    page = (HTML / chapter).read_text("utf8")
    [sheet] = re.findall(r'rel="stylesheet" href="([^"]*)"', page)
    style = ((HTML / chapter).parent / sheet).read_text("utf8")
    assert style.count(":is(.trace, .trace-tree){\n  color:") == 1
    assert ":is(.trace" not in page


def pairs(part: str) -> list[tuple[str, ...]]:
    """The pairs of colours, light and dark, in a part of the style sheet."""
    return re.findall(r"light-dark\((#\w{6}), (#\w{6})\)", part)


@pytest.mark.parametrize("theme", [0, 1])
def test_every_colour_can_be_read_on_every_ground(theme):
    css = CSS.read_text("utf8")
    grounds = pairs("".join(re.findall("background: [^;]*;", css)))
    inks = pairs("".join(re.findall(r"(?<![-\w])color: [^;]*;", css)))
    assert len({*grounds}) >= 4
    assert len({*inks}) >= 12
    marked = "#ffdcd7", "#cdf0d5", "#5d1f1a", "#173f25"  # plain ink alone
    for ground in grounds:
        for ink in inks[:1] if ground[theme] in marked else inks:
            ratio = contrast(rgb(ink[theme]), rgb(ground[theme]))
            assert ratio >= 4.5, (ink, ground)
