"""Colours as numbers, and how well they can be told apart."""


def rgb(colour: str) -> tuple[int, ...]:
    """(139, 26, 91) for #8b1a5b."""
    return tuple(bytes.fromhex(colour.removeprefix("#")))


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """The contrast ratio of WCAG 2."""
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: tuple[int, ...]) -> float:
    """The relative luminance of WCAG 2."""
    parts = [part / 255 for part in colour]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
