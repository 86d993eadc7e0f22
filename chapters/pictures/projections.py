"""One word's vector goes through three matrices."""

from dataclasses import dataclass

from torch import Tensor, nn

from pictures.canvas import Canvas, arguments, largest
from tformer_lite.drawing.surface.matrix import number, table
from tformer_lite.drawing.surface.page import SIZE
from tformer_lite.drawing.surface.palette import AXES
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["projections"]

ROLES = {
    "query": "what it looks for",
    "key": "what it is found by",
    "value": "what it hands over",
}
MOST_CHANNELS = 24  # channels that have room
LANE, HIGH, BAR, SIDE = 100, 20, 20, 64  # a role; a row; a vector; a matrix
MATRIX, ROWS, WIDE = 66, 154, 150  # from the vector to matrices and rows


@dataclass
class Role:
    """A role's name, its weight, and what it makes, a row for each head."""

    name: str
    weight: Tensor
    heads: Tensor


def projections(x: Tensor, layer: nn.Module, word: str = "") -> Picture:
    """Draw how a layer makes a word's query, key and value: (C) -> a picture.

    `layer` is a MultiHeadAttention, or another with linear layers `query`,
    `key` and `value`; `word` stands beside x. The vectors share one scale,
    and so do the weights. Raises ValueError for anything but one vector, for
    a layer without the three, and for more than 24 channels.

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
    title = [*arguments(), "x"][0]
    roles = [role_of(name, x, layer) for name in ROLES]
    x = x.detach().cpu()
    page = draw_roles(title, word, x, roles)
    return page.picture(roles_text(title, word, x, roles))


def role_of(name: str, x: Tensor, layer: nn.Module) -> Role:
    """Project a word in one of its roles: (C) -> (H, D)."""
    linear, width = layer.get_submodule(name), len(x)
    heads = linear(x).view(-1, width // getattr(layer, "n_heads", 1))
    weight = linear.get_parameter("weight")
    return Role(name, weight.detach().cpu(), heads.detach().cpu())


def roles_text(title: str, word: str, x: Tensor, roles: list[Role]) -> str:
    """Say it to someone who does not see it."""
    q, k, v = (len(role.heads) for role in roles)
    say = (
        f"{word or title}: x ({len(x)}) becomes a query, a key and a value "
        f"in {q}, {k} and {v} heads of {roles[0].heads.shape[1]} channels, "
        "by a matrix each."
    )
    rows = [["", *map(str, range(len(x)))]]
    for name, values in (
        {title: x} | {r.name: r.heads for r in roles}
    ).items():
        numbers = list(map(number, values.flatten()))
        rows.append([name, *numbers, *[""] * (len(x) - len(numbers))])
    return f"{say}\n\n{table('channels', rows)}"


@with_style
def draw_roles(title: str, word: str, x: Tensor, roles: list[Role]) -> Canvas:
    """Draw a word's vector upright, and a lane for each of its roles."""
    page, c, middle = Canvas(), len(x), 1.5 * LANE
    limit = largest(x, *(role.heads for role in roles))
    weight = largest(*(role.weight for role in roles))
    high = min(2.6 * LANE, 15 * c)
    page.scores((0, middle - high / 2, BAR, high), x[:, None], limit)
    page.bold(-6, middle, word, 50, ha="right")
    for i, role in enumerate(roles):
        y = LANE * (i + 0.5)
        page.wire((BAR + 2, middle), (MATRIX - 3, y))
        page.scores((MATRIX, y - SIDE / 2, SIDE, SIDE), role.weight, weight)
        page.arrow((MATRIX + SIDE + 3, y), (ROWS - 4, y))
        draw_role(page, role, len(roles[0].heads), limit, y)
    for left, name, letters, sizes in (
        (BAR / 2, title, "C", (c,)),
        (MATRIX + SIDE / 2, "weights", "CC", (c, c)),
        (ROWS + WIDE / 2, "q, k, v", "HD", roles[0].heads.shape),
    ):
        page.bold(left, -28, name, 60)
        page.shape(left, -4, letters, sizes)
    return page


def draw_role(
    page: Canvas, role: Role, n: int, limit: float, y: float
) -> None:
    """Draw what a role's matrix makes, cut into as many heads as there are
    of n."""
    share = (WIDE + 8) / n
    wide, colour = share - 8, AXES["H"][1][0]
    for head, channels in enumerate(role.heads):
        x = ROWS + share * head
        page.scores((x, y - HIGH / 2, wide, HIGH), channels[None], limit)
        name = f"{'head ' * (wide > 40)}{head}"
        place = x + wide / 2, y - HIGH / 2 - 9
        page.bold(*place, name, size=SIZE, color=colour)
    page.bold(ROWS, y + 22, role.name[0], ha="left")
    page.note(ROWS + 16, y + 22, ROLES[role.name], ha="left")
