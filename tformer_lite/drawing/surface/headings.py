"""Headings of panels: a title, and below it what is said aside."""

from collections.abc import Sequence

from tformer_lite.drawing.surface.page import NAME, SMALL, Page, lines

HEADING = 14  # the height of a line
Heading = list[tuple[str, bool]]


def heading_of(title: str, width: float) -> Heading:
    """Break a title into lines, and tell which are small: those that follow
    a line feed."""
    first, _, note = title.partition("\n")
    bold = [(x, False) for x in lines(first, width, NAME, "bold") if x]
    return bold + [(x, True) for x in lines(note, width, SMALL) if x]


def heading_height(headings: Sequence[Heading]) -> float:
    """Give the height of headings that stand side by side."""
    return HEADING * max(map(len, headings)) + 8


def draw_heading(page: Page, left: float, top: float, head: Heading) -> None:
    """Write a heading that ends above a panel."""
    for i, (line, small) in enumerate(reversed(head)):
        y = top - 4 - HEADING * (i + 0.5)
        if small:
            page.note(left, y, line, ha="left")
        else:
            page.write(left, y, line, ha="left", size=NAME, weight="bold")
