"""Modules and their parameters, as in torch.nn."""

from collections import OrderedDict

import js

from ..tensors import Tensor
from . import functional, init, utils

watch = js.watch  # told which module runs, if a page wants to know


class Parameter(Tensor):
    def __init__(self, data, requires_grad=True):
        super().__init__(data.clone().detach().own)
        self.own.needs = requires_grad

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()


class Handle:
    def __init__(self, hooks, hook):
        self.hooks, self.hook = hooks, hook

    def remove(self):
        if self.hook in self.hooks:
            self.hooks.remove(self.hook)


class Module:
    training = True

    def __init__(self):
        object.__setattr__(self, "order", [])
        self.hooks, self.buffers_ = [], {}

    def __setattr__(self, name, value):
        if isinstance(value, (Module, Parameter)):
            if "order" not in self.__dict__:
                what = "module" if isinstance(value, Module) else "parameters"
                raise AttributeError(
                    f"cannot assign {what} before Module.__init__() call"
                )
            if name not in self.order:
                self.order.append(name)
        object.__setattr__(self, name, value)

    def __call__(self, *given, **named):
        before = watch.enter(id(self))
        found = self.forward(*given, **named)
        watch.enter(before)
        for hook in self.hooks:
            changed = hook(self, given, found)
            found = found if changed is None else changed
        return found

    def forward(self, *given):
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" '
            "function"
        )

    def register_forward_hook(self, hook):
        self.hooks.append(hook)
        return Handle(self.hooks, hook)

    def register_buffer(self, name, value, persistent=True):
        self.buffers_[name] = persistent
        setattr(self, name, value)

    def named_children(self):
        both = [(name, getattr(self, name)) for name in self.order]
        return [(n, child) for n, child in both if isinstance(child, Module)]

    def children(self):
        return [child for _, child in self.named_children()]

    def named_modules(self, prefix="", seen=None):
        seen = [] if seen is None else seen
        if self in seen:
            return []
        seen.append(self)
        found = [(prefix, self)]
        for name, child in self.named_children():
            path = f"{prefix}.{name}" if prefix else name
            found += child.named_modules(path, seen)
        return found

    def modules(self):
        return [module for _, module in self.named_modules()]

    def named_tensors(self):
        """List parameters and kept buffers under their paths, also twice."""
        own = [(name, getattr(self, name)) for name in self.order]
        found = [(name, x) for name, x in own if isinstance(x, Parameter)]
        kept = [name for name, keep in self.buffers_.items() if keep]
        found += [(name, getattr(self, name)) for name in kept]
        for name, child in self.named_children():
            found += [(f"{name}.{n}", x) for n, x in child.named_tensors()]
        return found

    def named_parameters(self):
        seen, found = [], []
        for path, x in self.named_tensors():
            if isinstance(x, Parameter) and id(x) not in seen:
                seen.append(id(x))
                found.append((path, x))
        return found

    def parameters(self):
        return [x for _, x in self.named_parameters()]

    def state_dict(self):
        both = [(path, x.detach()) for path, x in self.named_tensors()]
        return OrderedDict(both)

    def load_state_dict(self, state, strict=True):
        own = dict(self.named_tensors())
        names = [path for path, _ in self.named_tensors()]
        wrong = []
        if strict:
            for title, missing in (
                ("Missing", [n for n in names if n not in state]),
                ("Unexpected", [n for n in state if n not in own]),
            ):
                if missing:
                    listed = ", ".join(f'"{n}"' for n in missing)
                    wrong.append(f"{title} key(s) in state_dict: {listed}. ")
        for name in names:
            if name in state and own[name].shape != state[name].shape:
                wrong.append(
                    f"size mismatch for {name}: copying a param with shape "
                    f"{state[name].shape!r} from checkpoint, the shape in "
                    f"current model is {own[name].shape!r}."
                )
        if wrong:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:"
                + "".join("\n\t" + text for text in wrong)
            )
        with no_grad():
            for name in names:
                if name in state:
                    own[name].copy_(state[name])

    def train(self, mode=True):
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def to(self, *where):
        return self

    def extra_repr(self):
        return ""

    def together(self, both):
        return both

    def __repr__(self):
        both = [(name, repr(child)) for name, child in self.named_children()]
        lines = [
            f"  ({name}): " + text.replace("\n", "\n  ")
            for name, text in self.together(both)
        ]
        inside = "\n".join([""] + lines + [""]) if lines else self.extra_repr()
        return f"{type(self).__name__}({inside})"


class Linear(Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.empty(out_features, in_features))
        self.bias = Parameter(torch.empty(out_features)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        bound = self.in_features**-0.5
        for x in (self.weight, self.bias):
            if x is not None:
                init.uniform_(x, -bound, bound)

    def forward(self, x):
        return functional.linear(x, self.weight, self.bias)

    def extra_repr(self):
        sizes = self.in_features, self.out_features, self.bias is not None
        return "in_features={}, out_features={}, bias={}".format(*sizes)


class Embedding(Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.weight = Parameter(torch.empty(num_embeddings, embedding_dim))
        self.reset_parameters()

    def reset_parameters(self):
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    def forward(self, ids):
        return functional.embedding(ids, self.weight)

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}"


class LayerNorm(Module):
    def __init__(
        self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True
    ):
        super().__init__()
        gain = torch.ones(normalized_shape)
        self.normalized_shape = tuple(gain.shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = Parameter(gain) if elementwise_affine else None
        bias = bias and elementwise_affine
        self.bias = Parameter(torch.zeros(normalized_shape)) if bias else None

    def forward(self, x):
        return functional.layer_norm(
            x, self.normalized_shape, self.weight, self.bias, self.eps
        )

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    def __init__(self, normalized_shape, eps=None):
        super().__init__()
        self.eps = 1.1920929e-07 if eps is None else eps
        self.weight = Parameter(torch.ones(normalized_shape))

    def forward(self, x):
        square = x.square().mean(-1, True) + self.eps
        return x * square.rsqrt() * self.weight


class Dropout(Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, x):
        return functional.dropout(x, self.p, self.training)

    def extra_repr(self):
        return f"p={self.p}, inplace=False"


class Identity(Module):
    def forward(self, x):
        return x


class ReLU(Module):
    def forward(self, x):
        return x.relu()


class GELU(Module):
    def forward(self, x):
        return functional.gelu(x)


class Several(Module):
    """Modules under the numbers from 0 up."""

    def __init__(self, *modules):
        super().__init__()
        for module in modules:
            self.append(module)

    def append(self, module):
        setattr(self, str(len(self)), module)
        return self

    def __len__(self):
        return len(self.order)

    def __iter__(self):
        return iter(self.children())

    def __getitem__(self, i):
        found = self.children()[i]
        return type(self)(*found) if isinstance(i, slice) else found


class Sequential(Several):
    def forward(self, x):
        for module in self:
            x = module(x)
        return x


class ModuleList(Several):
    def __init__(self, modules=()):
        super().__init__(*modules)

    def together(self, both):
        """Write neighbours that are alike once: (0-1): 2 x Linear(...)."""
        found = []
        for name, text in both:
            if found and found[-1][1] == text:
                found[-1][0].append(name)
            else:
                found.append(([name], text))
        return [
            (names[0], text) if len(names) == 1
            else (f"{names[0]}-{names[-1]}", f"{len(names)} x {text}")
            for names, text in found
        ]  # fmt: skip

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self


import torch  # noqa: E402
from torch import no_grad  # noqa: E402


def __getattr__(name):
    torch.lacks(f"torch.nn.{name}")
