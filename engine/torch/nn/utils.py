"""What is done to gradients, as in torch.nn.utils."""

from ..tensors import made, of


def clip_grad_norm_(parameters, max_norm):
    grads = [x.own.grad for x in parameters]
    return made(of.clip(max_norm, *[g for g in grads if g is not None]))
