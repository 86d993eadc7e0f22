"""The shapes that docstrings state are those of a run."""

import inspect
import re
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tformer_lite import (
    Block,
    Config,
    DecoderOnly,
    EncoderDecoder,
    english_tokenizer,
    nepali_tokenizer,
)
from tformer_lite.decoding import sampling, search
from tformer_lite.example import running
from tformer_lite.model import attention, grouped, layers, masks, models
from tformer_lite.model.choices import PARTS
from tformer_lite.parts import modern, variants
from tformer_lite.text import datasets, tokenizers
from tformer_lite.training import batches

MODULES = (
    attention,
    batches,
    datasets,
    grouped,
    layers,
    masks,
    models,
    modern,
    sampling,
    search,
    tokenizers,
    variants,
)
SIZES = {"B": 2, "T": 5, "S": 7, "H": 3, "G": 3, "D": 4, "C": 12, "V": 11}
CONFIG = Config(
    vocab_size=11, max_len=8, d_model=12, n_heads=3, n_layers=1, d_ff=6
)
NUMBERS = {
    "block": Block,
    "config": CONFIG,
    "d_ff": 6,
    "d_model": "C",
    "end": 99,  # no id: a row of `greedy` goes on to its last position
    "length": 8,
    "max_len": "T",
    "n": 2,  # S = T + n
    "n_heads": "H",
    "pad": 1,
    "pairs": running.PAIRS,
    "penalty": 0.6,
    "source": english_tokenizer(),
    "start": 2,
    "t": "T",
    "temperature": 0.5,
    "target": nepali_tokenizer(),
    "top_k": 3,
    "top_p": 0.5,
    "vocab_size": "V",
    "width": 3,
}
MODELS = {kind: kind(CONFIG) for kind in (DecoderOnly, EncoderDecoder)}
MODELS[nn.Module] = MODELS[DecoderOnly]
BASES = (layers.Positions,)
ALONE = (variants.FusedAttention,)
SHAPE = re.compile(r"(?<!\w)\(((?:(?:\.\.\.|[A-Z1])(?:, [A-Z1])*)?)\)")


def promise(function) -> tuple[list[list[str]], list[list[str]]]:
    """The shapes that a docstring's first sentence states: inputs, outputs."""
    first = inspect.getdoc(function).split("\n\n")[0]
    before, arrow, after = first.rpartition("->")
    inputs, outputs = (before, after) if arrow else ("", first)
    return tuple(
        [re.findall(r"[^ ,]+", shape) for shape in SHAPE.findall(part)]
        for part in (inputs, outputs)
    )


def number(name: str):
    """A value for a parameter that is not a tensor."""
    value = NUMBERS[name]
    return SIZES[value] if isinstance(value, str) else value


def tensor(name: str, letters: list[str]) -> Tensor:
    """A random tensor of the stated shape, fit for the parameter's name."""
    shape = [
        n
        for x in letters
        for n in ((2, 3) if x == "..." else (SIZES.get(x, 1),))
    ]
    if name in ("ids", "inputs", "labels", "src", "tgt"):
        ids = torch.randint(SIZES["V"], shape)
        return (ids,) if name == "inputs" else ids
    if name in ("done", "mask"):
        return torch.rand(shape) > 0.2
    return torch.randn(shape)


def run(function, call, inputs: list[list[str]]):
    """Call with tensors of the stated shapes, and numbers from the table."""
    bound, left = inspect.signature(call).bind_partial(), list(inputs)
    arguments = bound.arguments
    for name, parameter in bound.signature.parameters.items():
        if "Tensor" in str(parameter.annotation):
            if left:
                arguments[name] = tensor(name, left.pop(0))
        elif parameter.default is parameter.empty and name != "options":
            model = MODELS.get(parameter.annotation)
            arguments[name] = model or number(name)
    assert not left, "more shapes are stated than there are tensors"
    return call(*bound.args, **bound.kwargs)


def matches(shape: tuple, letters: list[str], known: dict[str, int]) -> bool:
    """Whether a measured shape is the stated one; learns unknown letters."""
    if letters[:1] == ["..."]:
        shape, letters = shape[2:], letters[1:]
    return len(shape) == len(letters) and all(
        size == (1 if letter == "1" else known.setdefault(letter, size))
        for size, letter in zip(shape, letters, strict=True)
    )


def promising() -> list:
    """Each function that returns tensors (not one by one), each module's
    forward and each attention's project, but for a forward that is
    PyTorch's own, and a base that is never built."""
    functions = []
    for part in MODULES:
        for thing in vars(part).values():
            if getattr(thing, "__module__", "") != part.__name__:
                continue
            if inspect.isclass(thing) and issubclass(thing, nn.Module):
                for name in ("forward", "project"):
                    method = getattr(thing, name, nn.Linear.forward)
                    ours = method.__module__.startswith("tformer_lite")
                    if ours and thing not in BASES:
                        functions.append((method, thing))
            elif inspect.isfunction(thing):
                returns = str(inspect.signature(thing).return_annotation)
                if re.search("^(?!.*Iterator).*(Tensor|Batch)", returns):
                    functions.append((thing, None))
    return functions


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "owner"),
    promising(),
    ids=lambda thing: getattr(thing, "__qualname__", "-"),
)
def test_the_shapes_in_a_docstring_are_those_of_a_run(function, owner):
    inputs, outputs = promise(function)
    assert outputs, f"{function.__qualname__} states no shape"
    call = function
    if owner:
        sizes = inspect.signature(owner).parameters.values()
        needed = [p.name for p in sizes if p.default is p.empty]
        numbers = {name: number(name) for name in needed}
        if "config" in numbers and hasattr(owner, "form"):
            numbers["config"] = replace(CONFIG, residual=owner.form)
        part = owner(**numbers)
        call = getattr(part, function.__name__)
    if owner in ALONE:  # of what its base's `forward` takes, it takes x
        inputs = inputs[:1]
    results = run(function, call, inputs)
    results = (results,) if isinstance(results, Tensor) else results
    used = {letter for shape in inputs for letter in shape}
    used |= {n for n in inspect.signature(call).parameters if n in NUMBERS}
    letters = {NUMBERS.get(name, name) for name in used}
    known = {x: SIZES[x] for x in letters if x in SIZES}
    for result, letters in zip(results, outputs, strict=False):
        shape = tuple(result.shape)
        assert matches(shape, letters, known), (shape, letters, known)


def test_configs_docstring_lists_the_names_of_all_parts():
    text = " ".join(inspect.getdoc(Config).split())
    for kind, known in (PARTS | {"residual": models.BLOCKS}).items():
        if not kind.startswith(("src_", "cross_")):
            assert f"`{kind}`: {', '.join(known)}" in text
    new = PARTS["src_embedding"].keys() - PARTS["embedding"].keys()
    assert f"`src_embedding` knows {', '.join(new)} too" in text
