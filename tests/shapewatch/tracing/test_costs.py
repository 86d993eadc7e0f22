"""Parameters, FLOPs and gradients, against figures that are not ours; modules
that share, freeze or forget; the sheet; time and memory; and statistics."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import dropout, scaled_dot_product_attention

from shapewatch.tracing import flops, gradients, parameters, trace
from shapewatch.tracing.questions import profile
from tests.helpers import source_003
from tests.helpers.listings import elements, text_of
from tests.helpers.small import words


@pytest.mark.slow
def test_source_003_takes_9_557_606_400_multiply_adds_and_twice_the_flops():
    ids = words(100, 1, 200), words(120, 1, 200, seed=1)
    whole = flops(source_003.Translator().eval(), *ids)[""]
    assert whole.multiply_adds == 9_557_606_400
    assert whole.flops == 19_115_212_800
    assert whole.parameters == 44_312_696


def test_scaled_dot_product_attention_is_two_products():
    q, k = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 7, 4)
    whole = flops(scaled_dot_product_attention, q, k, k)[""]
    assert whole.flops == 2 * (2 * 2 * 3 * 5 * 7 * 4)
    assert whole.kind == "scaled_dot_product_attention"


@pytest.mark.parametrize(
    ("product", "by_hand"),
    [
        (lambda m, v: m @ v, 2 * 3 * 4),
        (lambda m, v: v @ v, 2 * 4),
        (lambda m, v: torch.addmv(m[:, 0], m, v), 2 * 3 * 4),
        (lambda m, v: m * v, 0),
    ],
)
def test_products_with_a_vector_are_counted(product, by_hand):
    count = flops(product, torch.randn(3, 4), torch.randn(4))[""]
    assert count.flops == by_hand


@pytest.mark.parametrize(("kind", "gates"), [(nn.LSTM, 4), (nn.GRU, 3)])
def test_recurrent_layers_are_counted(kind, gates):
    layer, x = kind(4, 5, 2, bidirectional=True), torch.randn(6, 2, 4)
    by_hand = 2 * 6 * 2 * 2 * gates * 5 * ((4 + 5) + (2 * 5 + 5))
    assert flops(layer, x)[""].flops == by_hand


def test_layer_10_is_not_counted_within_layer_1():
    layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(11)))
    sheet = flops(layers, torch.randn(3, 4))
    assert {row.flops for row in sheet.rows[:-1]} == {2 * 3 * 4 * 4}


class Tied(nn.Module):
    """A head that is the embedding, one layer used twice, one unused."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 4)
        self.layer = self.again = nn.Linear(4, 4)
        self.unused = nn.Linear(4, 9)
        self.norm = nn.BatchNorm1d(4)
        self.head = nn.Linear(4, 11, bias=False)
        self.head.weight = self.embedding.weight
        self.scale = nn.Parameter(torch.ones(()))
        self.norm.requires_grad_(False)

    def forward(self, ids):
        x = self.again(self.layer(self.embedding(ids)))
        x = dropout(self.norm(x.mT).mT, 0.5)
        return {"logits": self.scale * self.head(x), "ids": ids}


def test_shared_parameters_count_once_and_frozen_ones_are_told_apart():
    sheet = parameters(Tied())
    assert sheet[""][2:] == (44 + 20 + 45 + 8 + 1, 8)
    assert sheet["head"].parameters == sheet["embedding"].parameters == 44
    assert sheet["norm"][2:] == (8, 8)
    assert sheet.notes[0] == (
        "one parameter, counted once: embedding.weight, head.weight"
    )
    with pytest.raises(KeyError, match="no 'heads'"):
        sheet["heads"]


def test_a_layer_used_twice_computes_twice():
    sheet = flops(Tied(), words(11, 2, 3))
    assert sheet["layer"].flops == 2 * (2 * 6 * 4 * 4)
    assert sheet["unused"].flops == 0
    assert sheet[""].flops == sheet["layer"].flops + sheet["head"].flops


def test_gradients_have_their_parameters_shape_unless_dead_or_frozen():
    sheet = gradients(Tied(), words(11, 2, 3))
    assert sheet["embedding.weight"].gradient == "(11, 4)"
    assert sheet["scale"].gradient == "()"
    assert sheet["unused.weight"].gradient == "none"
    assert sheet["norm.weight"].gradient == "frozen"
    assert "none" in sheet.notes[0]
    for name, p in Tied().named_parameters():
        assert sheet[name].shape == p.shape


class Broken(nn.Linear):
    def forward(self, x):
        super().forward(x)
        raise LookupError("on purpose")


@pytest.mark.parametrize("count", [flops, gradients])
def test_a_model_that_stops_is_left_as_it_was(count):
    model = Broken(4, 4).train()
    model.weight.grad = grad = torch.full((4, 4), 3.0)
    before = model.weight.clone(), torch.get_rng_state()
    with pytest.raises(LookupError):
        count(model, torch.randn(2, 4, generator=torch.Generator()))
    assert model.weight.equal(before[0])
    assert model.weight.grad is grad
    assert torch.get_rng_state().equal(before[1])


def test_a_sheet_prints_its_columns_and_its_total():
    model = nn.Sequential(nn.Linear(40, 30), nn.ReLU())
    assert str(flops(model, torch.randn(5, 40))).splitlines()[:4] == [
        "module  class       parameters   FLOPs  multiply-adds",
        "0       Linear           1,230  12,000          6,000",
        "1       ReLU                 0       0              0",
        "total   Sequential       1,230  12,000          6,000",
    ]
    assert str(gradients(model[0], torch.randn(40))).splitlines() == [
        "parameter  shape     gradient",
        "weight     (30, 40)  (30, 40)",
        "bias       (30,)     (30,)",
    ]
    assert str(gradients(nn.ReLU(), torch.randn(3))) == ""


def test_the_html_is_a_table_with_the_same_cells_and_real_headers():
    kind = type("<A&B>", (nn.Linear,), {})
    sheet = parameters(nn.Sequential(kind(40, 30)))
    page = elements(sheet._repr_html_())
    rows = [[*map(text_of, row)] for row in page.iter("tr")]
    assert rows == [line.split() for line in str(sheet).splitlines()]
    scopes = [header.get("scope") for header in page.iter("th")]
    assert scopes == ["col"] * 4 + ["row"] * 2


# --- time and memory -----------------------------------------------------


class Hands:
    """A clock that stands still unless it is moved."""

    __slots__ = ("at",)

    def __init__(self):
        self.at = 0


@pytest.fixture
def clock(monkeypatch):
    hands = Hands()
    monkeypatch.setattr(profile, "time_now", lambda: hands.at / 1000)
    return hands


class Wait(nn.Module):
    """It takes as long as it says, by a clock of ours."""

    def __init__(self, clock, seconds):
        super().__init__()
        self.clock, self.seconds = [clock], seconds

    def forward(self, x):
        self.clock[0].at += self.seconds
        return x + 1


class Slow(Wait):
    def __init__(self, clock):
        super().__init__(clock, 1)
        self.parts = nn.ModuleList([Wait(clock, 3), Wait(clock, 5)])

    def forward(self, x):
        self.clock[0].at += 1
        for part in (*self.parts, self.parts[0]):
            x = part(x)
        return x


X = torch.ones(10, 25)  # 1,000 bytes


def test_self_is_apart_from_the_modules_within_and_total_is_not(clock):
    sheet = trace(Slow(clock), X).profile()
    times = {r.module: (r.runs, r.self_ms, r.total_ms) for r in sheet.rows}
    assert times["parts.0"] == (2, pytest.approx(6), pytest.approx(6))
    assert times["parts.1"] == (1, pytest.approx(5), pytest.approx(5))
    assert times["parts"] == (0, 0, pytest.approx(11))
    assert times[""] == (1, pytest.approx(1), pytest.approx(12))
    lines = str(sheet).splitlines()
    assert lines[0].split() == [
        *("module", "class", "runs", "self_ms", "total_ms", "made", "peak")
    ]
    assert lines[-2].split()[:5] == ["total", "Slow", "1", "1", "12"]
    assert lines[-1].startswith("note: ms: medians of 5 runs")


def test_made_is_the_memory_that_is_new_and_peak_what_is_there_at_once():
    wide, narrow = nn.Linear(25, 50), nn.Linear(50, 25)

    def model(x):
        return narrow(wide(x)).view(-1)[:10].expand(3, 10)

    with torch.no_grad():
        sheet = trace(model, X).profile()
    assert sheet["wide"].made == 10 * 50 * 4
    assert sheet["narrow"].made == 10 * 25 * 4
    assert sheet[""].made == 3000  # views make none
    assert sheet["wide"].peak == 2000
    assert sheet["narrow"].peak == 3000


def test_memory_that_is_given_back_does_not_count_at_the_end():
    def model(x):
        for _ in range(20):
            x = x + 1
        return x

    whole = trace(model, X).profile()[""]
    assert whole.made == 20 * 1000
    assert whole.peak == 2000


# --- values that were kept -----------------------------------------------


TABLE = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 9.0]])


class Part(nn.Module):
    def forward(self, x):
        doubled = x * 2
        return doubled - 1


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Part(), Part()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        total = x.sum()
        return total, x


def seen(keep=True):
    return trace(Two(), TABLE, keep=keep)


def test_a_row_has_the_four_numbers_of_a_value():
    sheet = seen().statistics("layers.0:doubled")
    (row,) = sheet.rows
    deviation = (2 * TABLE).double().std(correction=0).item()
    assert row[3:] == pytest.approx((2, 8, 18, deviation))
    assert str(sheet).splitlines() == [
        "value             call   shape     minimum  mean  maximum  deviation",
        "layers.0:doubled  x * 2  (2?, 3?)        2     8       18      5.164",
    ]


@pytest.mark.parametrize(
    ("pattern", "many"),
    [("*:*", 5), ("*:doubled", 2), (":total", 1), ("layers", 4), ("", 1)],
)
def test_patterns_name_variables_or_modules(pattern, many):
    assert len(seen().statistics(pattern).rows) == many


def test_only_what_was_kept_is_listed():
    sheet = seen(keep="*:doubled").statistics()
    kept = [row.value for row in sheet.rows]
    assert kept == ["layers.0:doubled", "layers.1:doubled"]
    with pytest.raises(KeyError, match="called ':total': there are layers.0:"):
        seen(keep="*:doubled").statistics(":total")
    with pytest.raises(KeyError, match="no value was kept: trace with keep"):
        seen(keep=False).statistics()


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (torch.tensor([True, False]), (0, 0.5, 1, 0.5)),
        (torch.tensor([2, 4]), (2, 3, 4, 1)),
        (torch.tensor([60000.0] * 4).half(), (60000, 60000, 60000, 0)),
        (torch.tensor([3 + 4j, 0]), (0, 2.5, 5, 2.5)),
        (torch.tensor([0.0, 6.0]).to_sparse(), (0, 3, 6, 3)),
        (torch.tensor([-math.inf, 2, 3]), (-math.inf, 2.5, 3, 0.5)),
    ],
)
def test_numbers_of_every_kind_are_counted(x, expected):
    sheet = trace(lambda y: y.clone(), x, keep=True).statistics()
    assert sheet.rows[0][3:] == expected
    said = ["mean and deviation are those of the finite numbers"]
    assert sheet.notes == said * (expected[0] == -math.inf)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_what_has_no_numbers_has_none_in_its_row(device):
    x = torch.ones(0 if device == "cpu" else 2, device=device)
    (row,) = trace(lambda y: y.clone(), x, keep=True).statistics().rows
    assert math.isnan(row.minimum)
    assert math.isnan(row.mean)
