"""Models with one thing odd, which is right, or wrong: what a check says."""

import math
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.functional import normalize
from torch.testing import assert_close

from gallery import bug
from shapewatch import properties
from shapewatch.properties import finite, logits, repeatable
from tests.helpers.blocks import LOW_RANK
from tests.helpers.places import forgets
from tests.helpers.rounding import FilledLarge
from tests.helpers.strangers import (
    GPT,
    IDS,
    PADDED,
    Attention,
    Block,
    Encoder,
    Kinds,
    MemoryFirst,
    Small,
    Unscaled,
)
from tformer_lite import running_example

draw = torch.Generator().manual_seed(0)
ROWS = torch.randn(2, 6, 12, generator=draw)
WIDE = torch.randn(2, 7, 16, generator=draw)
RIGHT = torch.tensor([[6, 5, 4, 1, 1], [4, 9, 3, 8, 2]])  # padding is there
WORDS = torch.tensor([[3, 4, 5], [6, 7, 8]])
SOURCE = IDS.roll(2, 1)


class Hears(nn.Module):
    """Each word hears those before it, but for one, which hears nobody."""

    def __init__(self, deaf):
        super().__init__()
        self.table, self.weights = nn.Embedding(50, 12), torch.ones(7, 7)
        self.weights.tril_()[deaf, :deaf] = 0

    def forward(self, ids):
        t = ids.shape[1]
        return self.weights[:t, :t] @ self.table(ids)


class OddNorm(nn.Module):
    """Its gain is no parameter."""

    def __init__(self, gain):
        super().__init__()
        self.gain = gain

    def forward(self, x):
        return self.gain * x / x.square().mean(-1, keepdim=True).sqrt()


def called(name, act, kind=nn.LayerNorm, *parts):
    """A model of one part, of a class with this name."""
    named = type(name, (kind,), {"forward": lambda _, x: act(x)})
    return nn.Sequential(named(*parts or [12]))


def growing():
    """No norm holds back what attention reads."""
    return nn.Sequential(*(nn.Linear(16, 16) for _ in range(40)), Attention())


def root(x):
    return normalize(x, dim=-1) * x.shape[-1] ** 0.5


def centred(x):
    return x - x.mean(-1, True)


def unread(inside=False):
    """A model with a pooler that nothing reads, or a part of a block."""
    model = GPT()
    model.pooler = nn.Linear(16, 16)
    if inside:
        model.blocks[0].spare = nn.Linear(16, 16)
    return model


class Pooled(nn.Module):
    """Reads the first position after two blocks, which go backwards."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        for block in self.blocks:
            block.last = nn.Linear(16, 16)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        for block in self.blocks:
            x = block(x.flip(1)).flip(1)
            x = torch.cat([x[:, :1], x[:, 1:] + block.last(x[:, 1:])], 1)
        return self.head(x[:, 0])


def low_rank(*zeros):
    """A model with a pair of small matrices, of which some are 0."""
    model = LOW_RANK()
    for name in zeros:
        nn.init.zeros_(model.blocks[0].get_parameter(name))
    return model


class HeadNorm(nn.Module):
    """RMSNorm with gains for each head, or one that forgets the root of D."""

    def __init__(self, factor=2):
        super().__init__()
        self.gamma = nn.Parameter(torch.rand(4, 4) + 0.5)
        self.factor = factor

    def forward(self, x):
        return normalize(x, dim=-1) * self.factor * self.gamma


class NormedHeads(Attention):
    """Queries and keys are normalised by head."""

    def __init__(self, factor=2):
        super().__init__()
        self.query_norm, self.key_norm = HeadNorm(factor), HeadNorm(factor)

    def shape(self, q, k):
        return self.query_norm(q) / q.shape[-1] ** 0.5, self.key_norm(k)


class Doubled(Attention):
    def weigh(self, scores):
        return scores.softmax(-1) * 2


class KeepsMask(GPT):
    """The mask of an earlier batch of the same shape stays."""

    mask = None

    def forward(self, ids):
        if self.mask is None or self.mask.shape != ids.shape:
            self.mask = ids == 1
        places = torch.arange(ids.shape[1])
        return self.read(self.tokens(ids) + self.places(places), self.mask)


class SeesBlanks(GPT):
    """What stands at padding is 0, and no mask hides it."""

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        x = (x * (ids != 1)[..., None]).flip(1)
        for block in self.blocks:
            x = block(x) * (ids.flip(1) != 1)[..., None]
        return self.head(self.norm(x.flip(1)))


class Viewed(GPT):
    """A view is taken for a transpose."""

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        return x @ self.tokens.weight.view(16, 50)


class Silenced(GPT):
    """Its rows at padding, which no other row hears, are 0."""

    def __init__(self):
        super().__init__(pads=True, attention=FilledLarge)

    def forward(self, ids):
        return super().forward(ids) * (ids != 1)[..., None]


DEFAULTS = "", [IDS], {}
OUT = called, "NormOut", centred, nn.Sequential, nn.Linear(12, 12)
MAY_HEAR_ALL = {"causal": False, "positions": 7}
NO_TARGET = partial(forgets, "embed_target"), "The target has no positions"
NO_SOURCE = partial(forgets, "embed"), "When source positions 0 and 1"
HIDDEN = "position 3 has no effect, nor does any other word with the id 1"
ON_THE_RIGHT = "when padding stands on the right of the input"
PADS = {"pad": 1}
PAIR = "a.weight", "a.bias", "b.weight"
NORMED = partial(NormedHeads, 1)
# By check: of which level a model is, what is said, and what it is asked of.
CASES = {
    "past": [
        *(
            ("broken", partial(Hears, t), f" {t} does not")
            for t in range(1, 7)
        ),
        ("unusual", Silenced, f"Sequence 0: {HIDDEN}", [RIGHT]),
        ("holds", Silenced, "", [RIGHT], PADS),
    ],
    "score_scale": [
        ("unusual", partial(Small, 0.5), "smaller by just that."),
        ("broken", partial(Small, 1.0)),
        ("broken", partial(GPT, attention=Unscaled)),
    ],
    "norm_statistics": [
        ("unusual", lambda: nn.Sequential(OddNorm(3.0)), "", [ROWS]),
        ("holds", lambda: nn.Sequential(OddNorm(1.0)), "", [ROWS]),
        ("holds", partial(called, "Any", root), "", [ROWS]),
        ("broken", partial(called, "ANorm", centred), "", [ROWS]),
        (
            "not judged",
            partial(called, "ANorm", torch.tanh),
            "judged alone",
            [ROWS],
        ),
        ("not judged", partial(*OUT), "", [ROWS]),
        ("holds", partial(GPT, attention=NormedHeads)),
        ("broken", partial(GPT, attention=NORMED)),
    ],
    "live_parameters": [
        ("unusual", unread, "They change no output"),
        ("broken", partial(unread, True), "such as blocks.0.spare"),
        ("holds", lambda: nn.Sequential(Kinds()), "where another input is"),
        ("holds", partial(low_rank, "b.weight"), ", 2 of"),
        ("broken", partial(low_rank, *PAIR), "0.a.weight. They never will"),
        ("holds", Encoder, "All layers of encoder.layers"),
        ("unusual", Pooled, "Only some positions", [WIDE]),
    ],
    "weight_rows": [("broken", partial(GPT, attention=Doubled))],
    "finite": [
        (
            "holds",
            partial(nn.Sequential, *map(nn.Linear, *[[16] * 40] * 2)),
            "",
            [WIDE],
        ),
        ("holds", growing, "All outputs are numbers.", [WIDE]),
    ],
    "repeatable": [
        ("broken", KeepsMask, "after a run on other rows", [PADDED], PADS),
        ("holds", partial(GPT, pads=True), "", [PADDED], PADS),
    ],
    "padding_invariance": [
        ("broken", SeesBlanks, ON_THE_RIGHT, [PADDED], PADS | MAY_HEAR_ALL)
    ],
    "provenance": [("broken", Viewed, "(50, 16) is viewed as (16, 50)")],
    "source_coverage": [
        ("unusual", MemoryFirst, f"source {HIDDEN}", [RIGHT, WORDS]),
        ("holds", MemoryFirst, "", [RIGHT, WORDS], PADS),
    ],
    "order_sensitivity": [  # each side has places of its own
        ("holds", partial(MemoryFirst, False), "", [SOURCE[:, :5], IDS]),
        ("broken", *NO_TARGET, [SOURCE[:, :5], IDS]),
        ("broken", *NO_SOURCE, [SOURCE[:, :5], IDS]),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "case"), [(x, case) for x in CASES for case in CASES[x]]
)
def test_a_check_says_so_of_a_model(check, case):
    level, build, says, inputs, known = *case, *DEFAULTS[len(case) - 2 :]
    finding = getattr(properties, check)(build().eval(), *inputs, **known)
    assert finding.level == level, finding
    assert says in finding.says


THIRD = torch.arange(6)[:, None] == 2


def test_the_positions_that_have_no_numbers_are_shown():
    seen = finite(lambda x: x.masked_fill(THIRD, math.nan), ROWS).seen
    assert seen.equal(1 - THIRD[:, 0].float().expand(2, 6))
    model, pair = bug("no_key_left").model(), running_example()[:2]
    seen = finite(model, *pair).seen
    assert seen.equal(torch.tensor([[0.0], [1.0]]).expand(2, 8))


class StartsWithOne(nn.Module):
    """The first word of what the caller holds becomes another one."""

    def __init__(self, side):
        super().__init__()
        self.tokens, self.side = nn.Embedding(10, 4), side

    def forward(self, words, answer=None):
        (words, answer)[self.side][:, 0] = 1
        made = self.tokens(words)
        return made if answer is None else made + self.tokens(answer)


@pytest.mark.parametrize(
    ("side", "inputs", "name"),
    [(0, 1, "input (words)"), (0, 2, "source (words)"), (1, 2, "(answer)")],
)
def test_ids_that_a_run_writes_into_are_named(side, inputs, name):
    given = [torch.tensor([[5, 3, 8], [1, 2, 7]]) for _ in range(inputs)]
    finding = repeatable(StartsWithOne(side), *given)
    assert finding.level == "broken"
    assert f"{name}: after the call" in finding.says
    assert finding.seen.tolist() == [[1, 0, 0], [0, 0, 0]]
    assert given[side].tolist() == [[5, 3, 8], [1, 2, 7]]


@pytest.mark.parametrize(
    ("rows", "holds"),
    [
        ([[0.5, 0.5], [0.9, 0.1]], False),
        ([[1.0, 0.0], [0.9, 0.1]], False),  # one is certain
        ([[0.5, 0.5], [0.9, 0.6]], True),  # no sum of 1
        ([[2.0, -1.0], [0.5, 0.5]], True),  # sums of 1, but no shares
        ([[1.0], [1.0]], True),  # one channel has no softmax
    ],
)
def test_probabilities_are_shares_of_one(rows, holds):
    outputs = torch.tensor([rows] * 2)
    finding = logits(lambda x: outputs, torch.zeros_like(outputs))
    assert finding.holds is holds
    assert_close(finding.seen, outputs.sum(-1))
