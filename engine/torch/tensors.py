"""Tensors with PyTorch's names and words, over engine/operations.mjs."""

import js

of = js.operations
ERRORS = {
    "IndexError": IndexError,
    "NotImplementedError": NotImplementedError,
    "ValueError": ValueError,
    "TypeError": TypeError,
}


class Named:
    """A dtype or a device: `kind`, and how PyTorch writes it."""

    def __init__(self, kind, written):
        self.kind, self.written = kind, written

    def __repr__(self):
        return self.written


DTYPES = {
    kind: Named(kind, "torch." + name)
    for kind, name in {
        "float": "float32",
        "int": "int64",
        "bool": "bool",
    }.items()
}
CPU = Named("cpu", "cpu")


class Size(tuple):
    def __repr__(self):
        return f"torch.Size([{', '.join(map(str, self))}])"

    def numel(self):
        return times(self)


def times(sizes):
    found = 1
    for n in sizes:
        found *= n
    return found


def lacks(what):
    raise AttributeError(
        f"this page's small torch has no {what}. Is it spelt as in PyTorch? "
        "Then run the file in Colab or on your machine, where torch is whole"
    )


def made(found):
    """Give a result to Python: a tensor, or an error in PyTorch's words."""
    if isinstance(found, str):
        kind, _, text = found.partition(": ")
        raise ERRORS.get(kind, RuntimeError)(text)
    return Tensor(found)


def plain(x):
    """Give what an operation takes. 2.0 is no whole number, as 2 is."""
    if isinstance(x, Tensor):
        return x.own
    return of.full(x, "float") if isinstance(x, float) else x


def in_row(values):
    """Read sizes or dims that are given one by one, in a tuple, or not."""
    if len(values) != 1 or isinstance(values[0], Tensor):
        return values
    if values[0] is None:
        return ()
    return tuple(values[0]) if isinstance(values[0], (tuple, list)) else values


def operation(name):
    call = getattr(of, name)

    def f(self, *given, **named):
        given = in_row(given) + tuple(named.values())
        return made(call(plain(self), *[plain(x) for x in given]))

    return f


def turned(name):
    """Make an operation whose second operand comes first: 1 - x."""
    call = getattr(of, name)
    return lambda self, other: made(call(plain(other), self.own))


def reduction(name):
    call = getattr(of, name)

    def f(self, dim=None, keepdim=False):
        return made(call(self.own, keepdim, *in_row((dim,))))

    return f


def extreme(name):
    def f(self, dim=None, keepdim=False):
        if dim is None:
            return made(getattr(of, name)(self.own, False))
        if isinstance(dim, Tensor):
            return made(getattr(of, name + "imum")(self.own, dim.own))
        both = getattr(of, name), getattr(of, "arg" + name)
        return Extremes(made(one(self.own, keepdim, dim)) for one in both)

    return f


class Extremes(tuple):
    values = property(lambda self: self[0])
    indices = property(lambda self: self[1])


def key_of(key):
    """Write a key of an index so that an operation can read it."""
    if isinstance(key, slice):
        ends = key.start, key.stop, key.step
        if key.step is not None and key.step < 1:
            raise ValueError("step must be greater than zero")
        return ":".join("" if end is None else str(int(end)) for end in ends)
    if isinstance(key, (list, range)):
        key = torch.tensor(list(key))
    return "..." if key is Ellipsis else plain(key)


def keys_of(keys):
    return [
        key_of(key) for key in (keys if isinstance(keys, tuple) else (keys,))
    ]


class Tensor:
    def __init__(self, own):
        self.own = own

    kind = property(lambda self: self.own.kind)
    dtype = property(lambda self: DTYPES[self.own.kind])
    device = property(lambda self: CPU)
    ndim = property(lambda self: len(self.shape))
    data = property(lambda self: self.detach())
    T = property(lambda self: self.permute(*reversed(range(self.ndim))))

    @property
    def shape(self):
        text = of.shape(self.own)
        return Size([int(n) for n in text.split(",")] if text else [])

    @property
    def mT(self):
        if self.ndim < 2:
            raise RuntimeError(
                "tensor.mT is only supported on matrices or batches of "
                f"matrices. Got {self.ndim}-D tensor."
            )
        return self.transpose(-2, -1)

    @property
    def grad(self):
        return None if self.own.grad is None else Tensor(self.own.grad)

    @grad.setter
    def grad(self, value):
        self.own.grad = None if value is None else value.own

    @property
    def requires_grad(self):
        return self.own.needs

    @requires_grad.setter
    def requires_grad(self, needs):
        self.own.needs = needs

    def requires_grad_(self, needs=True):
        self.own.needs = needs
        return self

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def dim(self):
        return self.ndim

    def numel(self):
        return times(self.shape)

    def backward(self):
        made(of.backward(self.own))

    def item(self):
        if self.numel() != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted "
                "to Scalar"
            )
        return self.numbers()[0]

    def numbers(self):
        read = {"float": float, "int": int, "bool": lambda n: n == "1"}[
            self.kind
        ]
        return [read(n) for n in of.texts(self.own).split(",") if n]

    def tolist(self):
        found = self.numbers()
        for n in reversed(self.shape[1:]):
            rows = range(0, len(found), n) if n else []
            found = [found[at : at + n] for at in rows]
        return found if self.ndim else found[0]

    def __getitem__(self, keys):
        return made(of.index(self.own, *keys_of(keys)))

    def __setitem__(self, keys, value):
        self.become(made(of.put(self.own, plain(value), *keys_of(keys))))

    def become(self, other):
        """Take the numbers of another, in place."""
        if of.leaf(self.own):
            made(of.assign(self.own, other.own))
        else:
            self.own = other.own
        return self

    def __len__(self):
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __bool__(self):
        if self.numel() != 1:
            raise RuntimeError(
                "Boolean value of Tensor with more than one value is ambiguous"
            )
        return self.numbers()[0] != 0

    def __hash__(self):
        return id(self)

    def __invert__(self):
        return self.logical_not() if self.kind == "bool" else -self - 1

    def __repr__(self):
        return of.written(self.own)

    def __str__(self):  # in an f-string; print writes repr
        return repr(self) if self.ndim else str(self.item())

    def __getattr__(self, name):
        lacks(f"Tensor.{name}")

    def to(self, *what, **named):
        for kind in what + tuple(named.values()):
            kind = getattr(kind, "kind", None)
            if kind in DTYPES:
                return made(getattr(of, "as")(self.own, kind))
        return self

    def contiguous(self):
        return self.clone() if of.turned(self.own) else self

    def axis(self, dim, more=0):
        """Read a dim that may be counted from the end."""
        most = max(self.ndim + more, 1)
        if not -most <= dim < most:
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[{-most}, {most - 1}], but got {dim})"
            )
        return dim % most

    def flatten(self, start_dim=0, end_dim=-1):
        shape = tuple(self.shape)
        start, end = self.axis(start_dim), self.axis(end_dim) + 1
        whole = times(shape[start:end])
        return self.reshape(*shape[:start], whole, *shape[end:])

    def unflatten(self, dim, sizes):
        shape, dim = tuple(self.shape), self.axis(dim)
        n = times(sizes)
        if shape[dim] % abs(n) if -1 in sizes else n != shape[dim]:
            raise RuntimeError(
                f"unflatten: Provided sizes {list(sizes)} don't multiply up "
                f"to the size of dim {dim} ({shape[dim]}) in the input tensor"
            )
        return self.view(*shape[:dim], *sizes, *shape[dim + 1 :])

    def unsqueeze(self, dim):
        shape, dim = tuple(self.shape), self.axis(dim, 1)
        return self.view(*shape[:dim], 1, *shape[dim:])

    def squeeze(self, dim=None):
        dims = range(self.ndim) if dim is None else [self.axis(dim)]
        sizes = enumerate(self.shape)
        return self.view(*[n for i, n in sizes if n != 1 or i not in dims])

    def repeat(self, *sizes):
        sizes = in_row(sizes)
        found = self.view(*[1] * (len(sizes) - self.ndim), *self.shape)
        for dim, many in enumerate(sizes):
            found = torch.cat([found] * many, dim)
        return found

    def repeat_interleave(self, repeats, dim=None):
        x = self.flatten() if dim is None else self
        n = x.shape[dim or 0]
        rows = [i for i in range(n) for _ in range(repeats)]
        return x.index_select(dim or 0, torch.tensor(rows))

    def index_select(self, dim, index):
        return self.at(dim, index.own)

    def at(self, dim, key):
        """Give what an axis has at a key, with all that the others have."""
        return made(of.index(self.own, *["::"] * self.axis(dim), key))

    def split(self, size, dim=0):
        n, at, found = self.shape[dim], 0, []
        sizes = (
            size if isinstance(size, (list, tuple)) else [size] * -(-n // size)
        )
        for own in sizes:
            found.append(self.at(dim, f"{at}:{at + own}"))
            at += own
        return tuple(found)

    def chunk(self, chunks, dim=0):
        return self.split(-(-self.shape[dim] // chunks), dim)

    def unbind(self, dim=0):
        return tuple(part.squeeze(dim) for part in self.split(1, dim))

    def masked_fill(self, mask, value):
        if mask.kind != "bool":
            raise RuntimeError(
                "masked_fill_ only supports boolean masks, but got mask with "
                f"dtype {'float' if mask.kind == 'float' else 'long int'}"
            )
        return torch.where(mask, value, self)

    def clamp(self, min=None, max=None):
        found = self if min is None else self.maximum(min)
        return found if max is None else found.minimum(max)

    def var(self, dim=None, correction=1, keepdim=False, unbiased=True):
        less = correction if unbiased else 0
        return made(of.var(self.own, less, keepdim, *in_row((dim,))))

    def std(self, *given, **named):
        return self.var(*given, **named).sqrt()

    def nan_to_num(self, nan=0.0):
        most = 3.4028234663852886e38
        return torch.where(self.isnan(), nan, self).clamp(-most, most)

    def equal(self, other):
        same = tuple(self.shape) == tuple(other.shape)
        return same and (self == other).all().item()

    def copy_(self, other):
        return self.become(made(of.expand(plain(other), *self.shape)))

    def fill_(self, value):
        return self.become(torch.full_like(self, value))

    def zero_(self):
        return self.fill_(0)

    def normal_(self, mean=0.0, std=1.0):
        made(of.normal(self.own, mean, std))
        return self

    def uniform_(self, start=0.0, end=1.0):
        made(of.uniform(self.own, start, end))
        return self


ALSO = (  # methods that are functions of torch, too, and are written above
    "flatten unflatten unsqueeze squeeze repeat_interleave index_select split "
    "chunk unbind masked_fill clamp var std nan_to_num "
    "equal numel "
)
for name in (
    "exp log log2 log1p expm1 sqrt rsqrt reciprocal tanh sigmoid erf sin cos "
    "neg abs relu square floor ceil round sign isnan isinf isfinite clone "
    "bitwise_and bitwise_or bitwise_xor logical_not logical_and logical_or logical_xor detach maximum minimum "
    "view reshape expand permute transpose tril triu softmax log_softmax cumsum "
    "matmul add sub mul div pow floor_divide remainder eq ne lt le gt ge"
).split():
    setattr(Tensor, name, operation(name))
    ALSO += name + " "
for name in "sum mean prod argmax argmin any all".split():
    setattr(Tensor, name, reduction(name))
    ALSO += name + " "
for name in "max", "min":
    setattr(Tensor, name, extreme(name))
    setattr(Tensor, "a" + name, reduction(name))
    ALSO += f"{name} a{name} "
for signs in (
    "add add radd", "sub sub", "mul mul rmul", "div truediv", "pow pow", "eq eq",
    "ne ne", "lt lt", "le le", "gt gt", "ge ge", "floor_divide floordiv",
    "remainder mod", "matmul matmul", "neg neg", "bitwise_and and",
    "bitwise_or or", "bitwise_xor xor",
):  # fmt: skip
    name, *others = signs.split()
    for sign in others:
        setattr(Tensor, f"__{sign}__", getattr(Tensor, name))
for sign, name in {"sub": "sub", "truediv": "div", "pow": "pow"}.items():
    setattr(Tensor, f"__r{sign}__", turned(name))
for sign in "add", "sub":  # of the others MicroPython knows no form in place
    setattr(
        Tensor,
        f"__i{sign}__",
        lambda x, y, f=getattr(Tensor, sign): x.become(f(x, y)),
    )
for name in "add sub mul div masked_fill clamp".split():
    own = getattr(Tensor, name)
    setattr(
        Tensor, name + "_", lambda x, *y, f=own, **n: x.become(f(x, *y, **n))
    )
for name in "float", "int", "bool", "long":
    kind = "int" if name == "long" else name
    setattr(Tensor, name, lambda x, kind=kind: x.to(DTYPES[kind]))
Tensor.cpu = Tensor.contiguous
Tensor.t = lambda x: x.T


import torch  # noqa: E402
