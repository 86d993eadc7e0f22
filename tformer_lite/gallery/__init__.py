"""A gallery of classic bugs, each one line of the model's own source."""

from tformer_lite.gallery import heads, hearing, layers, scores, wiring
from tformer_lite.gallery.catching import by_property, caught, measured
from tformer_lite.gallery.entries import Bug
from tformer_lite.gallery.planting import planted
from tformer_lite.gallery.shapes import changed, shapes

__all__ = [
    "Bug",
    "bug",
    "bugs",
    "by_property",
    "caught",
    "changed",
    "measured",
    "planted",
    "shapes",
]


def bugs() -> list[Bug]:
    """List every bug of the gallery, from the scores to the whole model."""
    shelves = scores, heads, hearing, layers, wiring
    return [bug for shelf in shelves for bug in shelf.BUGS]


def bug(name: str) -> Bug:
    """Look a bug up; ValueError for a name that is none."""
    known = {bug.name: bug for bug in bugs()}
    if name not in known:
        raise ValueError(f"{name=} is none of {', '.join(known)}.")
    return known[name]
