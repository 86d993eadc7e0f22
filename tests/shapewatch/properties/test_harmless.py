"""Whatever a check saw, and whatever happened, all is as it was."""

from itertools import count

import pytest
import torch

from shapewatch.properties import reporting
from shapewatch.properties.numbers import LOUD, loud
from shapewatch.properties.reporting import report
from shapewatch.properties.subject import Subject
from shapewatch.tracing import trace
from tests.helpers.awkward import AWKWARD, V, closed
from tests.helpers.losses import costs
from tests.helpers.witness import differences, witnessed

IDS = torch.randint(V, (2, 5), generator=torch.Generator().manual_seed(0))


def careless(model, x):
    """A loss that draws numbers, and leaves gradients behind."""
    logits = model(x)[:, :-1]
    loss = costs(logits, x[:, 1:] % logits.shape[-1]) * torch.rand(())
    loss.backward(retain_graph=True)
    return loss


@pytest.mark.slow
@pytest.mark.parametrize("name", AWKWARD)
def test_a_report_changes_nothing_of_a_model(name):
    model = AWKWARD[name]()
    before = witnessed(model)
    seen = report(model, IDS)
    for check in reporting.LOSS_CHECKS:
        check(model, IDS, loss=careless, pad=0)
    assert differences(before, witnessed(model)) == []
    assert seen["repeatable"].holds is not None, seen


@pytest.mark.full
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("name", AWKWARD)
def test_a_check_that_is_stopped_changes_nothing(name, error, monkeypatch):
    model, calls = AWKWARD[name](), count(1)  # nothing puts this back

    def stop(self, *inputs):
        result = forward(self, *inputs)
        if next(calls) % 3 == 0:
            raise error
        return result

    whole = type(model)
    forward = whole.forward
    monkeypatch.setattr(whole, "forward", stop)
    for check in reporting.CHECKS:
        before = witnessed(model)
        try:
            check(model, IDS)
        except KeyboardInterrupt:
            assert error is KeyboardInterrupt
        assert differences(before, witnessed(model)) == []
    assert next(calls) > 4


def test_a_report_changes_nothing_that_a_function_keeps():
    run = closed()
    model, kept, times = run.of
    before = witnessed(model)
    report(run, IDS)
    assert differences(before, witnessed(model)) == []
    assert (kept, times()) == ([], 0)


@pytest.mark.parametrize("name", ["shared", "tied", "one memory"])
def test_each_weight_is_made_larger_once(name):
    model = AWKWARD[name]()
    was = {path: x.clone() for path, x in model.state_dict().items()}
    with torch.no_grad():
        loud(Subject(model, (IDS,)), IDS)
    for path, x in model.state_dict().items():
        assert x.equal(was[path] * LOUD if x.ndim > 1 else was[path]), path


def test_inputs_that_a_model_writes_into_are_as_they_were():
    x = torch.randn(2, 5, 8)
    was = x.clone()
    report(lambda x: x.mul_(2).cumsum(1), x)
    assert x.equal(was)


def test_a_backward_pass_that_waits_for_a_report_can_go_on():
    model = AWKWARD["batch norm"]()
    loss = model(IDS).square().sum()
    report(model, IDS)
    trace(model, IDS, dims={"B": 2}, axes=["B _"])
    loss.backward()
    assert model.norm.weight.grad is not None
