"""Long runs: twice the calls are twice the work, not four times."""

from cProfile import Profile
from functools import partial
from weakref import ref

import pytest
import torch
from torch import Tensor, nn

from tformer_lite import trace


def calls(work) -> int:
    """How many calls some work takes."""
    profile = Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())


class Mask(nn.Module):
    """Gives the same tensor each time."""

    def forward(self, mask: Tensor) -> Tensor:
        return mask


class Masked(nn.Module):
    """Calls a small part many times, which gives what it was given."""

    def __init__(self, many: int):
        super().__init__()
        self.part, self.many = Mask(), many

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for _ in range(self.many):
            y = y + self.part(x)
        return y


@pytest.mark.slow
def test_source_takes_twice_the_work_for_twice_the_calls():
    work = []
    for times in (400, 800):
        seen = trace(Masked(times), torch.ones(3))
        assert str(seen.source(Masked))  # what is read of files is read now
        work.append(calls(partial(seen.source, Masked)))
    assert work[1] < 2.5 * work[0]


class Forgets(nn.Module):
    """Lets go of what it made, and looks whether it is gone."""

    def forward(self, x: Tensor) -> Tensor:
        y = x + 1
        self.made = ref(y)
        del y
        self.gone = self.made() is None
        return x * 2


def test_a_trace_keeps_no_tensor_that_an_untraced_run_would_free():
    inner, seen = Forgets(), []
    inner.register_forward_hook(lambda part, *_: seen.append(part.gone))
    trace(nn.Sequential(inner, nn.Identity()), torch.ones(3))
    assert seen == [True]
