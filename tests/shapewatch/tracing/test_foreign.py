"""Models that nobody here wrote: nothing of them changes, no name is wrong,
and no check finds what is not so.

Most of those of transformers are tried always, and their names in one of two
ways, by turns. `make zoo` installs the other libraries, and tries all in both;
there it is a failure that one is missing.
"""

import os
from contextlib import contextmanager
from importlib.util import find_spec

import pytest
import torch

from shapewatch.tracing import trace
from shapewatch.tracing.axes.sizes import plain_sizes
from tests.helpers.elsewhere import (
    elsewhere,
    named_trace,
    pairs,
    share_proved,
    to_the_bit,
    wrong_names,
)
from tests.helpers.foreign import KIND_OF, KINDS, ZOO, Foreign
from tformer_lite import report

# Other libraries warn of what is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")
ALL = os.environ.get("ZOO")
LIBRARIES = sorted({*KIND_OF} - {"lessons"})
HERE = [
    model
    for model in ZOO.values()
    if model.library not in LIBRARIES or find_spec(model.library)
    if ALL or not model.nightly
]
QUICK = {"GPT2LMHeadModel", "LlamaForCausalLM", "BertForMaskedLM"}
QUICK |= {"BartForConditionalGeneration", "T5ForConditionalGeneration"}
QUICK |= {"ViTForImageClassification", "BloomForCausalLM", "MptForCausalLM"}
QUICK |= {"lessons: WindowGPT, twice the length", "lessons: Annotated"}


def param(model: Foreign):
    marks = () if model.name in QUICK else pytest.mark.full
    return pytest.param(model, id=model.name, marks=marks)


every_model = pytest.mark.parametrize("model", [*map(param, HERE)])
WAYS = "axes", "build"


@contextmanager
def left_alone(model, inputs):
    """See that nothing of a model or of its inputs is changed."""
    before = state(model), to_the_bit(inputs)
    parameters = dict(model.named_parameters(remove_duplicate=False))
    yield
    assert (state(model), to_the_bit(inputs)) == before
    after = dict(model.named_parameters(remove_duplicate=False))
    assert all(after[name] is x for name, x in parameters.items())
    assert all(x.grad is None for x in after.values())


def state(model):
    """What a model has: its tensors to the last bit, its modes, its hooks."""
    tensors = [*model.parameters(), *model.buffers()]
    modules = [
        (name, x.training, len(x._forward_hooks), len(x._forward_pre_hooks))
        for name, x in model.named_modules(remove_duplicate=False)
    ]
    return (
        [*model.state_dict()],
        to_the_bit([x.detach() for x in tensors]),
        modules,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_is_installed(library):
    if not find_spec(library):
        says = f"{library} is not installed: `make zoo` tries its models"
        (pytest.fail if ALL else pytest.skip)(says)


def test_there_are_many_models_of_every_kind():
    kinds = {model.kind for model in ZOO.values()}
    assert kinds == {*KINDS}
    assert len(ZOO) > 130


@pytest.mark.slow
@every_model
def test_a_traced_model_gives_what_it_gives_untraced(model):
    ours, inputs = model.build(**plain_sizes(model.dims))
    with torch.no_grad():
        before = to_the_bit(ours(*inputs))
        with left_alone(ours, inputs):
            during = to_the_bit(trace(ours, *inputs, axes=model.axes).result)
        after = to_the_bit(ours(*inputs))
    assert before
    assert before == during == after


@pytest.mark.full
@pytest.mark.parametrize("nth", range(len(WAYS)) if ALL else [0])
@every_model
def test_no_proved_name_is_wrong_at_sizes_that_no_probe_used(model, nth):
    mode = WAYS[(HERE.index(model) + nth) % len(WAYS)]
    seen = named_trace(model, mode)
    assert mode == "axes" or share_proved(seen) > 0.7
    for there, sizes in elsewhere(model, seen, mode):
        compared = sum(1 for _ in pairs(seen, there))
        assert compared > 100
        assert wrong_names(seen, there, sizes) == []


@pytest.mark.full
@every_model
def test_the_checks_find_what_is_expected_and_nothing_else(model):
    ours, inputs = model.build(**plain_sizes(model.dims))
    ours(*inputs)  # some write tables down when they first run
    with left_alone(ours, inputs):
        found = report(ours, *inputs, pad=model.pad, causal=model.causal)
    unusual = [f.name for f in found.findings if f.level == "unusual"]
    assert sorted(found.broken) == sorted(model.broken), found
    assert sorted(unusual) == sorted(model.unusual), found


@pytest.mark.slow
def test_the_witness_finds_a_name_that_is_wrong():
    model = ZOO["BartForConditionalGeneration"]
    seen = named_trace(model, "build")
    there, sizes = elsewhere(model, seen, "build")[0]
    assert wrong_names(seen, there, sizes) == []
    sizes["S"], sizes["T"] = sizes["T"], sizes["S"]
    assert len(wrong_names(seen, there, sizes)) > 50
