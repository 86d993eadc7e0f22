"""What is wrong with how words stand on a drawn page."""

from itertools import combinations

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tformer_lite import Picture


def misplaced(picture: Picture) -> list[str]:
    """The words on both pages of a picture that are small, leave the page
    or share ink with others."""
    assert picture.narrow is not None
    return [*flaws(picture.figure), *flaws(picture.narrow)]


def flaws(figure: Figure) -> list[str]:
    """The same of one page. What is measured is higher than the ink."""
    ink = FigureCanvasAgg(figure).get_renderer()
    places = {
        text: text.get_window_extent(ink)
        for text in figure.axes[0].texts
        if text.get_text()
    }
    page = figure.bbox.padded(1)
    found = [
        f"small or outside: {text.get_text()}"
        for text, place in places.items()
        if text.get_size() < 9
        or not (page.contains(*place.min) and page.contains(*place.max))
    ]
    return found + [
        f"{one.get_text()} on {other.get_text()}"
        for (one, a), (other, b) in combinations(places.items(), 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 0.5
        and min(a.y1, b.y1) - max(a.y0, b.y0) > 3
    ]
