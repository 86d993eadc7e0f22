"""One word's vector goes through three matrices."""

from torch import Tensor, nn

from pictures.canvas import Canvas, arguments, largest
from tformer_lite.drawing.attention.heatmaps import draw_scales
from tformer_lite.drawing.surface.matrix import number, table
from tformer_lite.drawing.surface.palette import LINE
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["projections"]

ROLES = {
    "query": "what it looks for",
    "key": "what it is found by",
    "value": "what it hands over",
}
MOST_CHANNELS = 24  # channels that have room
LANE, HIGH, BAR, BOX = (
    76,
    20,
    20,
    (64, 32),
)  # a role; a row; a vector; a matrix
MATRIX, ROWS, WIDE = 66, 154, 150  # from the vector to matrices and rows


def projections(x: Tensor, layer: nn.Module, word: str = "") -> Picture:
    """Draw how a layer makes a word's query, key and value: (C) -> a picture.

    `layer` is a MultiHeadAttention, or another with linear layers `query`,
    `key` and `value`; `word` stands beside x. Colours are numbers, on one
    scale for all vectors; matrices are boxes. Raises ValueError for anything
    but one vector, for a layer without the three, and for more than 24
    channels.

    >>> projections(torch.ones(12), MultiHeadAttention(12, 3), "not")
    not: x (12) becomes a query, a key and a value in 3, 3 and 3 heads ...
    """
    missing = [role for role in ROLES if not hasattr(layer, role)]
    if missing:
        raise ValueError(
            f"{type(layer).__name__} has no {missing[0]}: give a layer with a "
            "matrix for each role, such as MultiHeadAttention."
        )
    if x.ndim != 1 or not 0 < len(x) <= MOST_CHANNELS:
        raise ValueError(
            f"x has shape {tuple(x.shape)}: give one word's vector of 1 to "
            f"{MOST_CHANNELS} channels, such as x[0, 3]."
        )
    title, size = (
        [*arguments(), "x"][0],
        len(x) // getattr(layer, "n_heads", 1),
    )
    made = [layer.get_submodule(name)(x).view(-1, size) for name in ROLES]
    x, *roles = (vector.detach().cpu() for vector in (x, *made))
    page = draw_roles(title, word, x, roles)
    return page.picture(roles_text(title, word, x, roles))


def roles_text(title: str, word: str, x: Tensor, roles: list[Tensor]) -> str:
    """Say it to someone who does not see it."""
    q, k, v = map(len, roles)
    say = (
        f"{word or title}: x ({len(x)}) becomes a query, a key and a value "
        f"in {q}, {k} and {v} heads of {roles[0].shape[1]} channels, by a "
        "matrix each."
    )
    rows = [["", *map(str, range(len(x)))]]
    for name, values in zip((title, *ROLES), (x, *roles)):
        numbers = list(map(number, values.flatten()))
        rows.append([name, *numbers, *[""] * (len(x) - len(numbers))])
    return f"{say}\n\n{table('channels', rows)}"


@with_style
def draw_roles(
    title: str, word: str, x: Tensor, roles: list[Tensor]
) -> Canvas:
    """Draw a word's vector upright, and a lane for each of its roles."""
    page, c, middle = Canvas(), len(x), 1.5 * LANE
    limit, (wide, high) = largest(x, *roles), BOX
    tall = min(2.6 * LANE, 15 * c)
    page.scores((0, middle - tall / 2, BAR, tall), x[:, None], limit)
    page.bold(-6, middle, word, 50, ha="right")
    share = (WIDE + 8) / len(roles[0])
    for i, (name, heads) in enumerate(zip(ROLES, roles)):
        y = LANE * (i + 0.5)
        page.wire((BAR + 2, middle), (MATRIX - 1, y))
        page.box((MATRIX, y - high / 2, wide, high), fill=False, ec=LINE[0])
        page.bold(MATRIX + wide / 2, y, name, wide)
        page.arrow((MATRIX + wide + 2, y), (ROWS - 4, y))
        draw_heads(page, name, heads, y, share, limit)
    for head in range(len(roles[0])):
        said = f"{'head ' * (share > 48)}{head}"
        page.note(ROWS + share * (head + 0.5) - 4, LANE / 2 - 20, said)
    for left, name, letters, sizes in (
        (BAR / 2, title, "C", (c,)),
        (MATRIX + wide / 2, "matrices", "CC", (c, c)),
        (ROWS + WIDE / 2, "q, k, v", "HD", roles[0].shape),
    ):
        page.bold(left, -44, name, 64)
        page.shape(left, -20, letters, sizes)
    draw_scales(page, {"scores": (-limit, limit)}, (ROWS, 3 * LANE + 12))
    return page


def draw_heads(
    page: Canvas, name: str, heads: Tensor, y: float, share: float, most: float
) -> None:
    """Draw what a matrix makes, a row of cells for each head."""
    for head, values in enumerate(heads):
        box = ROWS + share * head, y - HIGH / 2, share - 8, HIGH
        page.scores(box, values[None], most)
    page.bold(ROWS, y + 22, name[0], ha="left")
    page.note(ROWS + 16, y + 22, ROLES[name], ha="left")
