"""Time and memory of modules, against what is known of both."""

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace
from shapewatch.tracing.questions import profile


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


class Sizes(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.narrow = nn.Linear(25, 50), nn.Linear(50, 25)

    def forward(self, x):
        x = self.narrow(self.wide(x))
        return x.view(-1)[:10].expand(3, 10)


def test_made_is_the_memory_that_is_new_and_peak_what_is_there_at_once():
    with torch.no_grad():
        sheet = trace(Sizes(), X).profile()
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
