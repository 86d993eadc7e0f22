"""PyTorch's own tools take our models, whatever the config says.

`make zoo` installs the libraries that some of these tools need.
"""

import os
import re
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor, distributed, nn
from torch.export import Dim
from torch.func import functional_call, grad, vmap
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parametrize
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from tests.helpers.project import ROOT
from tests.helpers.small import build, words
from tformer_lite import Config, DecoderOnly, EncoderDecoder
from tformer_lite.model.choices import PARTS

# Exporters and quantisers warn of what is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")
SIZES = {"vocab_size": 11, "src_vocab_size": 10, "max_len": 9, "d_ff": 20}
SIZES |= {"d_model": 24, "n_heads": 6, "n_layers": 1, "dropout": 0.0}
# Together they have every choice of a config; but BERT, and what is tiled.
CHOICES: dict[str, dict] = {
    "paper": {},
    "sources": {
        "attention": "fused", "positions": "learned", "norm": "unbiased",
        "activation": "gelu_tanh", "residual": "post", "head_bias": True,
        "embedding": "plain",
    },
    "llama": {
        "positions": "rotary", "n_kv_heads": 2, "feed_forward": "gated",
        "norm": "rms", "activation": "silu", "tied": True, "bias": False,
        "window": 3,
    },
    "experts": {
        "feed_forward": "mixture", "positions": "none", "embedding": "shrunk",
        "activation": "gelu", "n_kv_heads": 1, "src_positions": "learned",
    },
}  # fmt: skip
ALL = CHOICES | {"tiled": {"attention": "tiled", "positions": "learned"}}
SMOOTH = {name: own for name, own in ALL.items() if name != "experts"}
KINDS = EncoderDecoder, DecoderOnly


def of(choices: dict[str, dict]) -> pytest.MarkDecorator:
    """A test for each kind of model with each of these configs."""
    configs = [Config(**SIZES | own) for own in choices.values()]
    models = [(kind, config) for kind in KINDS for config in configs]
    return pytest.mark.parametrize(("kind", "config"), models)


def library(name: str) -> ModuleType:
    """A library that `make zoo` has, and nobody else need have."""
    if os.environ.get("ZOO"):
        return import_module(name)
    return pytest.importorskip(name, reason="`make zoo` installs it")


def batch(kind: type, b: int, s: int, t: int) -> tuple[Tensor, ...]:
    """Rows of ids, of which the last ends with padding."""
    src, tgt = words(10, b, s), words(11, b, t, seed=1)
    src[-1, s - s // 3 :] = tgt[-1, t - t // 3 :] = 1
    return (src, tgt) if kind is EncoderDecoder else (tgt,)


def gradients(model: Callable, *inputs: Tensor) -> list[Tensor]:
    """What the squares of all logits send back to each weight."""
    loss = model(*inputs).square().mean()
    return torch.autograd.grad(loss, [*model.parameters()])


def test_the_models_here_have_every_choice_of_a_config():
    for field, parts in PARTS.items():
        said = {
            own.get(field, getattr(Config, field)) for own in CHOICES.values()
        }
        if not field.startswith(("src_", "cross_")):
            assert {*parts} - {"tiled"} == said


# --- programs: torch.export, torch.compile -------------------------------


def exported(model: nn.Module, dims: str = "BST", most: int = 9):
    """Export with the axes of these letters left open, by one name each."""
    kind = type(model)
    open_axes = {
        "B": Dim("B", max=64), "S": Dim("S", max=most), "T": Dim("T", max=most)
    }  # fmt: skip
    axes = ("BS", "BT") if kind is EncoderDecoder else ("BT",)
    shapes = tuple(
        {i: open_axes[n] for i, n in enumerate(names) if n in dims}
        for names in axes
    )
    inputs = batch(kind, 3, 5, 6)
    return torch.export.export(model, inputs, dynamic_shapes=shapes)


def check_sizes(program: Callable, model: nn.Module, atol: float) -> None:
    """A program gives what its model gives, whatever the sizes are."""
    for sizes in ((2, 4, 7), (5, 9, 3), (3, 6, 6)):
        inputs = batch(type(model), *sizes)
        assert_close(program(*inputs), model(*inputs), rtol=0, atol=atol)


@pytest.mark.full
@of(CHOICES)
def test_an_exported_program_gives_the_same_at_every_size(kind, config):
    model = build(kind, config)
    program = exported(model).module()
    assert isinstance(program, torch.fx.GraphModule)
    check_sizes(program, model, 1e-12)


@pytest.mark.full
@of(CHOICES)
def test_onnx_gives_the_same_at_every_size(kind, config, tmp_path):
    library("onnxscript")
    runtime = library("onnxruntime")
    model, file = build(kind, config).float(), tmp_path / "model.onnx"
    torch.onnx.export(exported(model), f=file, verbose=False)
    session = runtime.InferenceSession(file)
    names = [x.name for x in session.get_inputs()]

    def program(*inputs: Tensor) -> Tensor:
        arrays = {name: x.numpy() for name, x in zip(names, inputs)}
        return torch.from_numpy(session.run(None, arrays)[0])

    check_sizes(program, model, 1e-4)


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (EncoderDecoder, "paper"),
        (DecoderOnly, "llama"),
        (DecoderOnly, "experts"),
    ],
)
def test_one_compiled_graph_serves_every_size_and_nothing_warns(kind, name):
    torch._dynamo.reset()
    model = build(kind, Config(**SIZES | CHOICES[name]))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        # What PyTorch thinks of Python 3.13.0, whatever it compiles.
        warnings.filterwarnings("ignore", "Guards may run slower")
        compiled = torch.compile(
            model, backend="aot_eager", fullgraph=True, dynamic=True
        )
        check_sizes(compiled, model, 1e-12)
        inputs = batch(kind, 3, 6, 6)
        sent_back = [gradients(run, *inputs) for run in (compiled, model)]
    assert warned == []
    for mine, theirs in zip(*sent_back):
        assert_close(mine, theirs, rtol=0, atol=1e-12)


@pytest.mark.full
def test_what_the_page_of_the_model_shows_works():
    page = (ROOT / "book" / "reference" / "model.md").read_text("utf8")
    code, plain = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict = {}
    exec(code[: code.index("torch.onnx.export")] + plain, names)
    model, inputs = names["model"], (words(1024, 5, 3), words(1024, 5, 6))
    layers = [x for x in model.modules() if isinstance(x, nn.Linear)]
    assert {type(x) for x in layers} == {nn.Linear}
    again = names["program"].module()(*inputs)
    assert_close(again, model(*inputs), rtol=0, atol=1e-5)


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_tiles_are_exported_with_any_batch_and_with_their_lengths(kind):
    model = build(kind, Config(**SIZES | ALL["tiled"]))
    program = exported(model, "B").module()
    inputs = batch(kind, 7, 5, 6)
    assert_close(program(*inputs), model(*inputs), rtol=0, atol=1e-12)


# --- one gradient for each example -----------------------------------------


@pytest.mark.slow
@of(SMOOTH)
def test_each_example_gives_its_own_gradient_under_vmap(kind, config):
    model, inputs = build(kind, config), batch(kind, 4, 5, 6)

    def loss(weights: dict[str, Tensor], *ids: Tensor) -> Tensor:
        rows = tuple(x[None] for x in ids)
        return functional_call(model, weights, rows).square().mean()

    weights = {name: x.detach() for name, x in model.named_parameters()}
    over = (None, *(0 for _ in inputs))
    each = vmap(grad(loss), over)(weights, *inputs)
    for row in range(4):
        wanted = gradients(model, *(x[row : row + 1] for x in inputs))
        for name, gradient in zip(weights, wanted):
            assert_close(each[name][row], gradient, rtol=0, atol=1e-12)


# --- models without memory, which weights are loaded into ------------------


def forgetful(model: nn.Module) -> nn.Module:
    """The model on the CPU, every number of it lost."""
    model.to_empty(device="cpu")
    for x in (*model.parameters(), *model.buffers()):
        x.data.fill_(torch.nan)
    return model


@pytest.mark.slow
@of(ALL)
def test_weights_are_loaded_into_a_model_that_was_built_on_meta(kind, config):
    torch.manual_seed(0)
    model, inputs = kind(config).eval(), batch(kind, 3, 5, 6)
    for place, assign in ((forgetful, False), (lambda x: x, True)):
        with torch.device("meta"):
            empty = kind(config).eval()
        assert all(x.is_meta for x in (*empty.parameters(), *empty.buffers()))
        if config.feed_forward != "mixture":  # which asks who was chosen
            logits = empty(*(x.to("meta") for x in inputs))
            assert logits.shape == (3, 6, 11)
        place(empty).load_state_dict(model.state_dict(), assign=assign)
        assert empty(*inputs).equal(model(*inputs))


# --- training on several machines, in small numbers, in less memory --------


@pytest.fixture
def one_process():
    store = distributed.HashStore()
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


@pytest.mark.slow
@of(ALL)
def test_every_weight_has_a_gradient_where_processes_share_them(
    kind, config, one_process
):
    model = DistributedDataParallel(build(kind, config))
    for sizes in ((2, 3, 4), (3, 1, 1)):
        model.zero_grad()
        model(*batch(kind, *sizes)).square().sum().backward()
        assert all(x.grad is not None for x in model.parameters())


@pytest.mark.full
@of(SMOOTH)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast_gives_nearly_the_same_in_less(kind, config, dtype):
    model, inputs = build(kind, config).float(), batch(kind, 3, 5, 6)
    with torch.autocast("cpu", dtype):
        logits = model(*inputs)
    assert logits.dtype == dtype
    logits.float().square().mean().backward()
    off = (logits - model(*inputs)).norm() / model(*inputs).norm()
    assert off < 0.05


@pytest.mark.full
@of(ALL)
def test_blocks_run_again_in_place_of_being_kept(kind, config):
    model, inputs = build(kind, config).train(), batch(kind, 3, 5, 6)
    kept = gradients(model, *inputs)
    for stack in {model.decoder, getattr(model, "encoder", model.decoder)}:
        for block in stack.blocks:
            block.forward = partial(
                checkpoint, block.forward, use_reentrant=False
            )
    for mine, theirs in zip(gradients(model, *inputs), kept):
        assert_close(mine, theirs, rtol=0, atol=1e-12)


# --- whole files, weights that are computed, weights in bytes --------------


class Halves(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight / 2

    def right_inverse(self, weight: Tensor) -> Tensor:
        return weight * 2


def computed(model: nn.Module, folder: Path) -> nn.Module:
    """The model, each of its weights computed from another."""
    for layer in [x for x in model.modules() if isinstance(x, nn.Linear)]:
        if layer is not model.head:
            parametrize.register_parametrization(layer, "weight", Halves())
    return model


def saved_whole(model: nn.Module, folder: Path) -> nn.Module:
    torch.save(model, folder / "model.pt")
    return torch.load(folder / "model.pt", weights_only=False)


def saved_as_safetensors(model: nn.Module, folder: Path) -> nn.Module:
    """Another model of the kind, with the weights, tied or not."""
    files = pytest.importorskip("safetensors.torch")
    files.save_model(model, folder / "model.safetensors")
    other = build(type(model), model.config, seed=1)
    files.load_model(other, folder / "model.safetensors")
    return other


@pytest.mark.full
@of(ALL)
@pytest.mark.parametrize("tool", [computed, saved_whole, saved_as_safetensors])
def test_a_model_that_went_through_a_tool_gives_the_same(
    tool, kind, config, tmp_path
):
    model, inputs = build(kind, config), batch(kind, 3, 5, 6)
    logits = model(*inputs)
    assert tool(model, tmp_path)(*inputs).equal(logits)


@pytest.mark.full
@of(ALL)
def test_every_linear_layer_is_quantised(kind, config):
    """And gives nearly the same; rounded, a score can choose another
    expert."""
    torchao = library("torchao.quantization")
    model, inputs = build(kind, config).float(), batch(kind, 3, 5, 6)
    logits = model(*inputs)
    torchao.quantize_(model, torchao.Int8WeightOnlyConfig())
    off = (model(*inputs) - logits).norm() / logits.norm()
    assert off < 0.05 or config.feed_forward == "mixture"
    layers = [x for x in model.modules() if isinstance(x, nn.Linear)]
    assert all(type(x.weight).__name__ == "Int8Tensor" for x in layers)
