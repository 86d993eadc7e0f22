"""A gallery of classic bugs, each one line of the model's own source."""

from tformer_lite.gallery.catching import by_property, caught, measured
from tformer_lite.gallery.entries import Bug, bug, bugs
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
