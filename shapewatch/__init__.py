"""See the shapes of any PyTorch model, and what is wrong with it.

`trace` runs a model and names the axes of every tensor on its way; `report`
checks what holds for every right model. Both take a module or a function as
it is, and leave it as it was.

    print(trace(model, ids, dims={"B": 2, "T": 8}, axes=["B T"]))
    print(report(model, ids, pad=0))

All public names of `shapewatch.tracing` and `shapewatch.properties` can be
imported from here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shapewatch.properties import *  # noqa: F403
    from shapewatch.tracing import *  # noqa: F403

__version__ = "0.1.0"
ROOMS = "tracing", "properties"


def __getattr__(name: str) -> Any:
    """Find a public name in a room when it is asked for: pytest loads the
    plugin of this package for every test, and few of them need torch."""
    if name in ROOMS:
        return import_module(f"{__name__}.{name}")
    for room in () if name.startswith("_") else ROOMS:
        module = import_module(f"{__name__}.{room}")
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, those not yet imported too."""
    rooms = (import_module(f"{__name__}.{room}") for room in ROOMS)
    return sorted({*globals(), *ROOMS}.union(*(r.__all__ for r in rooms)))
