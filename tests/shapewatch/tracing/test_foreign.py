"""Models that nobody here wrote: nothing of them changes, no name is wrong,
and no check finds what is not so.

Those of transformers are tried always, and their names in one of two
ways, by turns. `make zoo` installs the other libraries, and tries all in both;
there it is a failure that one is missing.
"""

import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from shapewatch.tracing import Axis, Trace, trace
from shapewatch.tracing.axes.sizes import plain_sizes, run_sizes
from shapewatch.tracing.record.recorder import Step
from tests.helpers.foreign import ELSEWHERE, KIND_OF, ZOO, Foreign, Sizes
from tests.helpers.sums import named_size
from tests.helpers.witness import differences, witnessed
from tformer_lite import report

# Other libraries warn of what is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")
ALL = os.environ.get("ZOO")
LIBRARIES = sorted(KIND_OF)
HERE = [
    model
    for model in ZOO.values()
    if model.library not in LIBRARIES or find_spec(model.library)
]
QUICK = {"GPT2LMHeadModel", "LlamaForCausalLM", "BertForMaskedLM"}
QUICK |= {"BartForConditionalGeneration", "T5ForConditionalGeneration"}
QUICK |= {"ViTForImageClassification", "BloomForCausalLM", "MptForCausalLM"}
QUICK |= {"GPT2LMHeadModel, window of T"}


# Of how many checks of a report the answer is a yes or a no.
JUDGED = {"BertForMaskedLM": 15, "T5ForConditionalGeneration": 17}
IN_TEST = {*JUDGED}  # the others are asked by `make full`
JUDGED |= {"GPT2LMHeadModel": 16, "LlamaForCausalLM": 17}
JUDGED |= {"MistralForCausalLM": 17, "BartForConditionalGeneration": 17}


def param(model: Foreign, quick=QUICK):
    marks = () if model.name in quick else pytest.mark.full
    return pytest.param(model, id=model.name, marks=marks)


every_model = pytest.mark.parametrize("model", [*map(param, HERE)])
WAYS = "axes", "build"
Wrong = tuple[str, int, int, str]


def to_the_bit(result: object) -> list[tuple]:
    """The tensors in what a model gives, to the last bit: NaN is itself."""
    tensors = [x for x in tree_leaves(result) if isinstance(x, Tensor)]
    return [(x.dtype, *x.shape, x.numpy().tobytes()) for x in tensors]


def named_trace(model: Foreign, mode: str) -> Trace:
    """A trace with names: by `axes`, as most would, or with `build`."""
    with torch.no_grad():
        if mode == "build":
            return trace(build=model.build, dims=model.dims)
        ours, inputs = model.build(**plain_sizes(model.dims))
        return trace(ours, *inputs, dims=model.dims, axes=model.axes)


def unused_sizes(model: Foreign, seen: Trace, free: set[str]) -> list[Sizes]:
    """Twice sizes that no run of a trace has: of those that vary."""
    own, found = plain_sizes(model.dims), []
    for nth in range(2):
        sizes = dict(own)
        for name in sorted(free & own.keys()):
            chosen = free_sizes(model, seen, name)
            sizes[name] = chosen[nth % len(chosen)]
        found.append(run_sizes(model.dims | sizes))
    return found


def free_sizes(model: Foreign, seen: Trace, name: str) -> list[int]:
    """Sizes that no run has for a dimension; heads and pictures as even as
    the traced ones, since models ask for it."""
    own = plain_sizes(model.dims)[name]
    step = min(own & -own, 8) if name in "HDX" else 1
    among = model.elsewhere.get(name, ELSEWHERE[name])
    used = {sizes[name] for sizes in seen.sizes}
    return [n for n in among if n % step == 0 and n not in used]


def elsewhere(model: Foreign, seen: Trace, mode: str) -> list[tuple]:
    """Traces at two sets of other sizes, each with its sizes. A model that
    refuses larger pictures has a larger batch alone."""
    free = set(plain_sizes(model.dims))
    if mode == "build":
        return [run_at(model, s) for s in unused_sizes(model, seen, free)]
    named = set(" ".join(model.axes).split())
    ours, _ = model.build(**plain_sizes(model.dims))
    try:
        chosen = unused_sizes(model, seen, named & free)
        return [run_at(model, sizes, ours) for sizes in chosen]
    except Exception:
        chosen = unused_sizes(model, seen, {"B"})
        return [run_at(model, sizes, ours) for sizes in chosen]


def run_at(model: Foreign, sizes: Sizes, ours=None) -> tuple[Trace, Sizes]:
    """A trace without names, and its sizes."""
    plain = {name: sizes[name] for name in plain_sizes(model.dims)}
    other, inputs = model.build(**plain)
    with torch.no_grad():
        return trace(ours or other, *inputs), sizes


def pairs(seen: Trace, there: Trace) -> Iterator[tuple[Axis, int, Step]]:
    """Each axis of a trace, its size in another, and the call."""
    first, other = seen._calls.run, there._calls.run
    same = zip(seen.axes, first.steps, other.shapes_of(first))
    for sides, step, its in same:
        for shapes, found in zip(sides, its or ()):
            for shape, sizes in zip(shapes, found):
                if len(shape) == len(sizes):
                    for axis, n in zip(shape, sizes):
                        yield axis, n, step


def wrong_names(seen: Trace, there: Trace, sizes: Sizes) -> list[Wrong]:
    """The proved names that are not true of a run at other sizes."""
    return [
        (axis.name, axis.size, size, f"{step.visit.path}: {step.line}")
        for axis, size, step in pairs(seen, there)
        if axis.proof == "proved" and named_size(axis.name, sizes) != size
    ]


def share_proved(seen: Trace) -> float:
    """Which part of all axes is proved."""
    shapes = [
        shape for reads, makes in seen.axes for shape in (*reads, *makes)
    ]
    proofs = [axis.proof for shape in shapes for axis in shape]
    return proofs.count("proved") / len(proofs)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_is_installed(library):
    if not find_spec(library):
        says = f"{library} is not installed: `make zoo` tries its models"
        (pytest.fail if ALL else pytest.skip)(says)


@pytest.mark.slow
@every_model
def test_a_traced_model_gives_what_it_gives_untraced(model):
    ours, inputs = model.build(**plain_sizes(model.dims))
    with torch.no_grad():
        before = to_the_bit(ours(*inputs))
        around = witnessed(ours), to_the_bit(inputs)
        during = to_the_bit(trace(ours, *inputs, axes=model.axes).result)
        assert differences(around[0], witnessed(ours)) == []
        assert to_the_bit(inputs) == around[1]
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


@pytest.mark.slow
@pytest.mark.parametrize("model", [param(x, IN_TEST) for x in HERE])
def test_the_checks_find_what_is_expected_and_nothing_else(model):
    ours, inputs = model.build(**plain_sizes(model.dims))
    ours(*inputs)  # some write tables down when they first run
    around = witnessed(ours), to_the_bit(inputs)
    found = report(ours, *inputs, pad=model.pad, causal=model.causal)
    assert differences(around[0], witnessed(ours)) == []
    assert to_the_bit(inputs) == around[1]
    unusual = [f.name for f in found.findings if f.level == "unusual"]
    assert sorted(found.broken) == sorted(model.broken), found
    assert sorted(unusual) == sorted(model.unusual), found
    judged = sum(f.holds is not None for f in found.findings)
    assert judged == JUDGED.get(model.name, judged)
