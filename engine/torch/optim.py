"""Optimizers, as in torch.optim."""

from .tensors import Tensor, made, of


class Optimizer:
    def __init__(self, params, **defaults):
        params = list(params)
        if not params:
            raise ValueError("optimizer got an empty parameter list")
        groups = (
            params if isinstance(params[0], dict) else [{"params": params}]
        )
        self.param_groups = [dict(defaults, **group) for group in groups]
        self.kept = {}

    def zero_grad(self, set_to_none=True):
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = None

    def step(self):
        before = of.grad(False)
        for group in self.param_groups:
            for p in group["params"]:
                if p.own.grad is not None:
                    self.update(p, group)
        of.grad(before)

    def state(self, p):
        """Keep what a parameter's steps before this one have left."""
        if id(p) not in self.kept:
            self.kept[id(p)] = of.state(p.own)
        return self.kept[id(p)]


class AdamW(Optimizer):
    decoupled = True

    def __init__(
        self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2
    ):
        super().__init__(
            params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay
        )

    def update(self, p, group):
        how = group["eps"], group["weight_decay"], self.decoupled
        state = self.state(p)
        made(of.adam(p.own, state, group["lr"], *group["betas"], *how))


class Adam(AdamW):
    decoupled = False

    def __init__(
        self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0
    ):
        super().__init__(params, lr, betas, eps, weight_decay)


class SGD(Optimizer):
    def __init__(self, params, lr=1e-3, momentum=0, weight_decay=0):
        super().__init__(
            params, lr=lr, momentum=momentum, weight_decay=weight_decay
        )

    def update(self, p, group):
        change = Tensor(p.own.grad)
        if group["weight_decay"]:
            change = change + p.detach() * group["weight_decay"]
        if group["momentum"]:
            before = self.kept.get(id(p))
            if before is not None:
                change = change + before * group["momentum"]
            self.kept[id(p)] = change
        made(of.assign(p.own, (p.detach() - change * group["lr"]).own))
