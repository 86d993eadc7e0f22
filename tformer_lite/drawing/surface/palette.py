"""The book's colours: axis letters, lines, a scale for each kind of matrix."""

from dataclasses import dataclass

from matplotlib.colors import LinearSegmentedColormap, to_hex

# Colours come in pairs, for a light page and a dark one.
PAPER = ("#ffffff", "#14181e")
INK = ("#1f2328", "#e6edf3")
EDGE = ("#d0d7de", "#343b45")
HATCH = ("#afb8c1", "#57606a")
SHADE = ("#eaeef2", "#252b34")  # below what is hatched
SHUT = ("#8c959f", "#7d8794")  # where a mask lets nothing through
GREY = ("#57606a", "#a9b4c0")
LINE = GREY  # of arrows and wires
# What is lit, and the one frame that says: look here.
HIGHLIGHT = ("#fff3d1", "#3b2c05")
RIM = ("#9a6700", "#e3b341")
AXES = {
    "B": ("example in the batch", ("#8b1a5b", "#f2a9a8")),
    "T": ("target position", ("#275a90", "#a3bcfc")),
    "S": ("source position", ("#167986", "#89f3fc")),
    "H": ("head", ("#8c672f", "#f78823")),
    "D": ("channel of the head", ("#2f5201", "#c3f69d")),
    "C": ("channel", ("#884bcf", "#b77efd")),
    "F": ("hidden channel", ("#57606a", "#a9b4c0")),
    "V": ("word of the vocabulary", ("#57606a", "#a9b4c0")),
}

# Lines of one figure: a colour, a dash and a marker each.
LINES = [
    (("#0b5cad", "#7db7ff"), "solid", "o"),
    (("#a04000", "#ffa657"), "dashed", "s"),
    (("#1a6b3c", "#6fdd8b"), "dashdot", "^"),
    (("#7a3fa0", "#d2a8ff"), "dotted", "D"),
    (("#4a5058", "#c4ccd6"), (0, (7, 2)), "v"),
]
# What an element is, wherever it goes: a hue for a word, a tint for a head.
# Violet, green and rose differ for colour-blind readers, too.
TINTS = [
    [("#9a78dc", "#6b48b8"), ("#c2aeea", "#4a3580"), ("#e1d7f5", "#2f2650")],
    [("#7fae3c", "#47701a"), ("#b2ce8a", "#37531a"), ("#d9e7c5", "#273a16")],
    [("#d98ab0", "#9c4873"), ("#e8b9d0", "#6c3853"), ("#f4dce7", "#432939")],
]
WRONG = ("#b3261e", "#ff8a80")  # of words that are not where they should be
# What each colour is on a dark page.
DARK = dict([PAPER, INK, EDGE, HATCH, SHADE, SHUT, GREY, HIGHLIGHT, RIM])
DARK |= dict([WRONG, *(pair for hue in TINTS for pair in hue)])
DARK |= dict(pair for _, pair in AXES.values())
DARK |= dict(pair for pair, *_ in LINES)


@dataclass(frozen=True)
class Kind:
    """How matrices of a kind are coloured, from the lowest value up."""

    light: tuple[str, ...]
    dark: tuple[str, ...]

    def scale(self, ends: tuple[str, ...]) -> LinearSegmentedColormap:
        """Blend the colours in 255 steps: an odd number has a middle."""
        return LinearSegmentedColormap.from_list("kind", list(ends), N=255)

    def counterparts(self) -> dict[str, str]:
        """Map each colour of the light scale to its step of the dark one."""
        light, dark = self.scale(self.light), self.scale(self.dark)
        return {to_hex(light(i)): to_hex(dark(i)) for i in range(light.N)}


AROUND_ZERO = Kind(
    ("#84b8e6", "#ffffff", "#f2a65e"), ("#1e66a8", "#14181e", "#a5500f")
)
# Weights go on where scores are high; what a mask lets through is open.
SHARE = Kind(AROUND_ZERO.light[1:], AROUND_ZERO.dark[1:])
TRUTH = Kind(PAPER[:1] * 2, PAPER[1:] * 2)
KINDS = {"scores": AROUND_ZERO, "weights": SHARE, "mask": TRUTH}
KINDS["percent"] = SHARE  # weights, written in percent
DARK = SHARE.counterparts() | AROUND_ZERO.counterparts() | DARK


def tint(word: int, head: int) -> str:
    """Give the colour of a word's share in a head; colours return in turn."""
    hue = TINTS[word % len(TINTS)]
    return hue[head % len(hue)][0]
