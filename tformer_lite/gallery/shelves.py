"""The shelves of the gallery, and what stands on them."""

from tformer_lite.gallery import heads, hearing, layers, scores, wiring
from tformer_lite.gallery.entries import Bug

SHELVES = {
    "from scores to weights": scores.BUGS,
    "projections and heads": heads.BUGS,
    "who hears whom": hearing.BUGS,
    "positions, norms, residual connections": layers.BUGS,
    "the whole model": wiring.BUGS,
}


def bugs() -> list[Bug]:
    """List every bug of the gallery, from the scores to the whole model."""
    return [bug for shelf in SHELVES.values() for bug in shelf]


def bug(name: str) -> Bug:
    """Look a bug up; ValueError for a name that is none."""
    known = {bug.name: bug for bug in bugs()}
    if name not in known:
        raise ValueError(f"{name=} is none of {', '.join(known)}.")
    return known[name]


def shelf(name: str) -> str:
    """Say on which shelf a bug stands; "" for one that stands on none."""
    found = (
        title
        for title, bugs in SHELVES.items()
        for bug in bugs
        if bug.name == name
    )
    return next(found, "")
