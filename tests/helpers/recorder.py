"""What a run makes: the shapes of its tensors, and its modules' outputs."""

from collections.abc import Callable, Iterator

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

Shape = tuple[int, ...]


def tensors(values) -> Iterator[Tensor]:
    """The tensors among values, and in lists, tuples and dicts of them."""
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, dict):
        yield from tensors(list(values.values()))
    elif isinstance(values, list | tuple):
        for value in values:
            yield from tensors(value)


def shapes(values) -> list[Shape]:
    return [tuple(tensor.shape) for tensor in tensors(values)]


def sums(x: Tensor) -> bool:
    """Whether the rows of a batch of matrices sum to 1."""
    if x.ndim < 3 or not x.is_floating_point():
        return False
    return bool((x.sum(-1) - 1).abs().max() < 1e-5)


class Recorder(TorchFunctionMode):
    """Write down each torch call that makes a tensor: what it reads into
    `seen`, what it makes into `seen` and `made`, and into `weights` if its
    rows sum to 1; modules into `named`."""

    def __init__(self, inputs):
        super().__init__()
        self.seen, self.made = shapes(inputs), shapes(inputs)
        self.weights: list[Shape] = []
        self.named: list[tuple[str, Shape]] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        read = shapes([args, kwargs])
        result = function(*args, **kwargs)
        made = shapes(result)
        if made:
            self.seen += read + made
            self.made += made
            self.weights += shapes([t for t in tensors(result) if sums(t)])
        return result


def record(call: Callable, *inputs) -> Recorder:
    """Run a part, and write down its inputs and then every torch call."""
    with Recorder(inputs) as recorder:
        if isinstance(call, nn.Module):
            recorder.named = outputs(call, *inputs)
        else:
            call(*inputs)
    return recorder


def outputs(
    module: nn.Module, *inputs, kind: type = nn.Module
) -> list[tuple[str, Shape]]:
    """The name and output shape of each submodule of a kind, as they end."""
    found, hooks = [], []
    for name, part in module.named_modules():
        if isinstance(part, kind):

            def note(part, args, result, name=name):
                found.append((name, tuple(result.shape)))

            hooks.append(part.register_forward_hook(note))
    module(*inputs)
    for hook in hooks:
        hook.remove()
    return found
