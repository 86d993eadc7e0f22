"""A small torch for a page: PyTorch's names and words in MicroPython. What it
lacks says so."""

import builtins
import json
import math

import js

from .tensors import (
    ALSO, CPU, DTYPES, Size, Tensor, in_row, lacks, made, of, plain,
)  # fmt: skip

inf, nan, pi = math.inf, math.nan, math.pi
for name in ALSO.split():
    globals()[name] = getattr(Tensor, name)
bmm = Tensor.matmul
# Named as in PyTorch, and not as in Python.
float32 = float = DTYPES["float"]
int64 = long = DTYPES["int"]
bool = DTYPES["bool"]


def flat(data):
    """Give the shape of nested lists, and what is in them, row after row."""
    rows, shape, several = [data], [], (list, tuple, range)
    while rows and isinstance(rows[0], several):
        n = len(rows[0])
        for row in rows:
            got = len(row) if isinstance(row, several) else 0
            if got != n or not isinstance(row, several):
                raise ValueError(
                    f"expected sequence of length {n} at dim {len(shape)} "
                    f"(got {got})"
                )
        shape.append(n)
        rows = rows[0] if len(rows) == 1 else [x for row in rows for x in row]
    return shape, list(rows)


def tensor(data, dtype=None, device=None, requires_grad=False):
    if isinstance(data, Tensor):
        return data.clone().detach().to(dtype)
    shape, values = flat(data)
    types = {type(value) for value in values}
    if Tensor in types:
        return tensor([x.item() for x in values], dtype).view(*shape)
    kind = "int" if int in types else "bool"
    kind = "float" if builtins.float in types or not values else kind
    text = str(values)[1:-1]
    found = made(of.tensor(text, dtype.kind if dtype else kind, *shape))
    return found.requires_grad_() if requires_grad else found


def new(f):
    """Let f take sizes one by one or in a tuple, a dtype, and a device."""

    def made_new(*sizes, dtype=None, device=None, requires_grad=False):
        found = made(f(*in_row(sizes))).to(dtype)
        return found.requires_grad_() if requires_grad else found

    return made_new


def like(f):
    return lambda x, dtype=None: f(*x.shape, dtype=dtype or x.dtype)


zeros = empty = new(lambda *sizes: of.full(0, "float", *sizes))
ones = new(lambda *sizes: of.full(1, "float", *sizes))
rand, randn, randperm = new(of.rand), new(of.randn), new(of.randperm)
zeros_like, ones_like = like(zeros), like(ones)
rand_like, randn_like = like(rand), like(randn)


def full(size, value, dtype=None, device=None):
    given = dtype.kind if dtype else type(value).__name__
    return made(of.full(value, given, *in_row((size,))))


def full_like(x, value, dtype=None):
    return full(x.shape, value, dtype or x.dtype)


def randint(low, high=None, size=None, dtype=None, device=None):
    if size is None:
        low, high, size = 0, low, high
    return made(of.randint(low, high, *in_row((size,))))


def arange(start, end=None, step=1, dtype=None, device=None):
    start, end = (0, start) if end is None else (start, end)
    kinds = [type(x).__name__ for x in (start, end, step)]
    kind = "float" if "float" in kinds else "int"
    return made(of.arange(start, end, step, dtype.kind if dtype else kind))


def eye(n, m=None):
    return (arange(n)[:, None] == arange(m or n)).float()


def cat(tensors, dim=0):
    tensors = list(tensors)
    while len(tensors) > 100:  # as many as a call takes without trouble
        parts = range(0, len(tensors), 100)
        tensors = [cat(tensors[at : at + 100], dim) for at in parts]
    return made(of.cat(dim, *[x.own for x in tensors]))


def stack(tensors, dim=0):
    shapes = [list(x.shape) for x in tensors]
    for i, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise RuntimeError(
                "stack expects each tensor to be equal size, but got "
                f"{shapes[0]} at entry 0 and {shape} at entry {i}"
            )
    return cat([x.unsqueeze(dim) for x in tensors], dim)


def where(condition, input, other):
    return made(of.where(condition.own, plain(input), plain(other)))


def allclose(a, b, rtol=1e-5, atol=1e-8):
    return ((a - b).abs() <= atol + rtol * b.abs()).all().item()


class no_grad:
    grad = False

    def __call__(self, f):
        def without(*given, **named):
            with self.__class__():
                return f(*given, **named)

        return without

    def __enter__(self):
        self.before = of.grad(self.grad)

    def __exit__(self, *error):
        of.grad(self.before)


class cuda:
    is_available = staticmethod(lambda: False)


def device(name):
    return CPU


def manual_seed(seed):
    of.seed(seed)


def save(value, path):
    """Keep a value, as this page does: until it is closed."""
    tensors = []
    text = json.dumps(packed(value, tensors))
    js.files.save(path, text, *[x.own for x in tensors])


def load(path, weights_only=True, map_location=None):
    text = js.files.json(path)
    if not isinstance(text, str):
        raise OSError(f"[Errno 2] No such file or directory: '{path}'")
    return unpacked(json.loads(text), path)


def packed(value, tensors):
    if isinstance(value, Tensor):
        tensors.append(value)
        return {"a tensor": len(tensors) - 1}
    if isinstance(value, dict):
        return {key: packed(one, tensors) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [packed(one, tensors) for one in value]
    return value


def unpacked(value, path):
    if isinstance(value, dict) and "a tensor" in value:
        return Tensor(js.files.tensor(path, value["a tensor"]))
    if isinstance(value, dict):
        return {key: unpacked(one, path) for key, one in value.items()}
    if isinstance(value, list):
        return [unpacked(one, path) for one in value]
    return value


import torch.nn  # noqa: E402
import torch.optim  # noqa: E402


def __getattr__(name):
    lacks(f"torch.{name}")
