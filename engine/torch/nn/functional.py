"""What layers compute, as in torch.nn.functional."""

from ..tensors import Tensor, made, of, operation, plain

relu, gelu, silu = Tensor.relu, operation("gelu"), operation("silu")
tanh, sigmoid, softplus = Tensor.tanh, Tensor.sigmoid, operation("softplus")
softmax, log_softmax = Tensor.softmax, Tensor.log_softmax


def linear(x, weight, bias=None):
    found = x @ weight.mT
    return found if bias is None else found + bias


def embedding(ids, weight):
    if ids.kind != "int":
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the "
            "following scalar types: Long, Int; but got torch."
            f"{'FloatTensor' if ids.kind == 'float' else 'BoolTensor'} instead "
            "(while checking arguments for embedding)"
        )
    try:
        return weight[ids]
    except IndexError:
        raise IndexError("index out of range in self")


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    return made(of.layer_norm(x.own, own(weight), own(bias), eps, *shape))


def own(x):
    return None if x is None else plain(x)


def cross_entropy(
    input, target, weight=None, ignore_index=-100, reduction="mean"
):
    return made(
        of.cross_entropy(input.own, target.own, ignore_index, reduction)
    )


def dropout(x, p=0.5, training=True):
    if not training or not p:
        return x
    kept = made(of.rand(*x.shape)) >= p
    return x * kept / (1 - p)


def __getattr__(name):
    torch.lacks(f"torch.nn.functional.{name}")


import torch  # noqa: E402
