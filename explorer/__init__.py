"""Explorer: the translator and the attentions of any run, on a page."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.exploring import explore

__all__ = ["explore"]


def __getattr__(name: str) -> Any:
    """Import `explore` when it is asked for: the pages, which have the same
    scripts, are built where there is no torch."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from explorer.exploring import explore

    return explore
