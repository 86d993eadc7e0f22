"""What is printed goes on further in where a line is too long."""

import pytest

from tests.helpers.browser import CHAPTERS, PHONE

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


@pytest.mark.full
@pytest.mark.parametrize("lines", [".output .hang", ".trace pre"])
def test_no_line_goes_on_left_of_where_it_begins(visit, lines):
    page = visit(CHAPTERS[18], "light", PHONE).page
    page.eval_on_selector_all("details", "all => all.map(x => x.open = true)")
    rests = page.eval_on_selector_all(lines, HANGING)
    wrapped = [line for line in rests if line[1] < 1e8]
    assert len(wrapped) > 10
    assert [line for line in wrapped if line[1] < 2.9] == []
