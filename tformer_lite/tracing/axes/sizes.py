"""Dimensions: names and sizes, some of them written with others."""

Given = dict[str, int | str]


class Named(dict[str, int]):
    """The sizes of a run by name, and `given`, how they were written."""

    def __init__(self, sizes: dict[str, int], given: Given):
        super().__init__(sizes)
        self.given = given


def evaluated(dims: Given) -> Named:
    """Work out the dimensions that are written with others.

    Raises ValueError for a name that is unknown, or that needs itself, and
    for what is neither a size nor an expression.
    """
    known = {name: n for name, n in dims.items() if is_size(n)}
    rest = {name: text for name, text in dims.items() if name not in known}
    needs = {name: uses(name, text) for name, text in rest.items()}
    while needs:
        ready = [name for name in needs if needs[name] <= set(known)]
        if not ready:
            raise ValueError(
                f"dims { ({name: rest[name] for name in needs}) } use names "
                "that are unknown, or each other. Known are "
                f"{', '.join(known) or 'none'}."
            )
        for name in ready:
            known[name] = int(eval(rest[name], {"__builtins__": {}}, known))
            del needs[name]
    return Named({name: known[name] for name in dims}, dims)


def is_size(value) -> bool:
    """Whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def uses(name: str, text: str) -> set[str]:
    """The names in an expression."""
    try:
        return set(compile(text, "dims", "eval").co_names)
    except (SyntaxError, TypeError, ValueError):
        raise ValueError(
            f"dims: {name} is {text!r}. Give a size, or an expression with "
            'other names, as in "H*D".'
        ) from None


def evenness(size: int) -> int:
    """The power of two that a size can be divided by, at least 2."""
    return max(2, size & -size)
