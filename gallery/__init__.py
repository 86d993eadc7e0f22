"""A gallery of classic bugs, each one line of the model's own source."""

from gallery.catching import (
    by_property,
    plant_and_report,
    stored_catches,
)
from gallery.entries import Bug, bug, bugs
from gallery.planting import planted
from gallery.shapes import changed_shapes, example_shapes

__all__ = [
    "Bug",
    "bug",
    "bugs",
    "by_property",
    "changed_shapes",
    "example_shapes",
    "plant_and_report",
    "planted",
    "stored_catches",
]
