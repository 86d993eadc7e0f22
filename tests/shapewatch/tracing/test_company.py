"""A trace among vmap, checkpoints, hooks of others, and a debugger."""

import sys

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from shapewatch.tracing import trace
from tests.helpers.four_rows import rows, small_model


def test_checkpoints_give_the_same_gradients_after_the_trace():
    gradients = []
    for traced in (False, True):
        model, x = small_model().eval(), rows().requires_grad_()

        def run(x, model=model):
            return checkpoint(model, x, use_reentrant=False)

        y = trace(run, x).result if traced else run(x)
        y.square().sum().backward()
        gradients.append([x.grad, *(p.grad for p in model.parameters())])
    for one, other in zip(*gradients):
        assert torch.equal(one, other)


def test_hooks_of_others_run_and_stay():
    model, seen = small_model().eval(), []
    hook = model[0].register_forward_hook(lambda *_: seen.append("layer"))
    everywhere = nn.modules.module.register_module_forward_hook(
        lambda *_: seen.append("any")
    )
    trace(model, rows())
    assert seen.count("layer") == 1
    assert seen.count("any") == 5
    model(rows())
    assert len(seen) == 12
    hook.remove()
    everywhere.remove()


@pytest.mark.parametrize("kind", ["profile", "trace"])
def test_an_active_profiler_or_debugger_stays_active(kind):
    get, put = getattr(sys, f"get{kind}"), getattr(sys, f"set{kind}")
    before, calls = get(), []

    def watch(frame, event, argument):
        calls.append(event)

    put(watch)
    try:
        seen = trace(small_model().eval(), rows())
        assert get() is watch
    finally:
        put(before)
    assert len(calls) > 10
    assert torch.equal(seen.result, small_model().eval()(rows()))
