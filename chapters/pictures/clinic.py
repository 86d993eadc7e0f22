"""Source 004's cells, afresh and small, with its faults in them; and a patient
whose faults are mended one by one."""

import linecache
import re
from collections.abc import Callable, Iterable, Mapping
from html import escape
from types import FunctionType, SimpleNamespace
from typing import Any

import torch

from shapewatch import Diff, Finding, html_table

__all__ = ["ERRORS", "LAST_ERRORS", "SILENT", "Patient", "guesses"]

HEAD = """
import copy
import math as m
from functools import partial
import torch
from torch import nn
from my_transformer import join_heads, split_heads
"""
CELLS = '''
class Layer_Feed:
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w_init = nn.Linear(d_model, d_ff)
        self.w_fin = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.w_fin(nn.functional.gelu(w_init(x)))


class Positional_Encoding:
    def __init__(self, d_model, max_len=8):
        super().__init__()
        PE, place = torch.zeros(max_len, d_model), torch.arange(max_len)
        for i in range(d_model):
            angle = place / 10000 ** (2 * i / d_model)
            PE[:, 2 * i], PE[:, 2 * i + 1] = angle.sin(), angle.cos()
        PE = unsqueeze(0)
        self.register_buffer("pe", PE)

    def forward(self, x):
        return x + self.PE[:, : len(x)]


class Layer_Norm:
    def __init__(self, size):
        super().__init__()
        self.a = nn.Parameter(torch.ones(size))
        self.b = nn.Parameter(torch.zeros(size))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.a * (x - mean) / (std + 1e-6) + self.b


class Sublayer:
    def __init__(self, size, dropout):
        super().__init__()
        self.norm = Layer_Norm(size)
        self.dropout = nn.dropout(dropout)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))


def clone(module, N):
    return nn.ModuleList(copy.deepcopy(module) for _ in range(N))


class Layer_Encoder:
    def __init__(self, d_model, attention, ff, dropout):
        super().__init__()
        self.d_model, self.attention, self.ff = d_model, attention, ff
        self.sublayer = clone(Sublayer(d_model, dropout), 2)

    def forward(self, x, mask):
        first, second = self.sublayer
        x = first(x, lambda x: self.attention(x, x, x, mask))
        return second(x, self.ff)


class Layer_Decoder:
    def __init__(self, d_model, self_attention, src_attention, ff, dropout):
        super().__init__()
        self.d_model, self.self_attention = d_model, self_attention
        self.src_attention, self.ff = src_attention, ff
        self.sublayer = clone(Sublayer(d_model, dropout), 3)

    def forward(self, x, memory, src_mask, mask):
        def read(x):
            return self.source_attention(x, memory, memory, src_mask)

        first, second, third = self.sublayer
        x = first(x, lambda x: self.self_attention(x, x, x, mask))
        return third(second(x, read), self.ff)


class Encoder:
    def __init__(self, modules, N):
        super().__init()
        self.layers = clone(modules, N)
        self.norm = Layer_Norm(modules.size)

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
        return self.norm(x)


class Decoder(Encoder):
    """In the source it is written out, with the same lines."""


class Embeddings:
    """In the source it is BERT."""

    def __init__(self, d_model, vocab):
        super().__init__()
        self.d_model, self.table = d_model, nn.Embedding(vocab, d_model)

    def forward(self, ids):
        return self.table(ids) * math.sqrt(self.d_model)


class Layer_Prob:
    def __init__(self, d_model, vocab):
        super().__init__()
        self.w = nn.Linear(d_model, vocab)

    def forward(self, x):
        return nn.functional.log_softmax(self.w(x), dim=-1)


def make_model(sentence, result_sentence, tokenizer, model, N,
               d_model=512, h=8, d_ff=2048, dropout=0.1):
    c, pe = copy.deepcopy, Positional_Encoding(d_model)
    attention, ff = Layer_Attention(d_model, h), Layer_Feed(d_model, d_ff)
    one = Layer_Encoder(d_model, c(attention), c(ff), dropout)
    other = Layer_Decoder(
        d_model, c(attention), c(attention), c(ff), dropout
    )
    model = EncoderDecoder(
        Encoder(one, N),
        Decoder(other, N),
        nn.Sequential(Embeddings(d_model, sentence), c(pe)),
        nn.Sequential(Embeddings(d_model, result_sentence), c(pe)),
        Layer_Prob(d_model, result_sentence),
    )
'''
# What stops it, in the order in which it shows: the line, and its repair. An
# ellipsis stands for any name. The chapter itself makes two more repairs, one
# before all of these and one between the two lists.
ERRORS = {
    "range(d_model)": "range(d_model // 2)",
    "= unsqueeze(0)": "= PE.unsqueeze(0)",
    "class …:": "class …(nn.Module):",
    "Attention(d_model, h)": "Attention(h, d_model)",
    "nn.linear": "nn.Linear",
    "self.d_model, d_model)": "d_model, d_model)",
    "nn.dropout": "nn.Dropout",
    "EncoderDecoder(": "Whole(",
    "super().__init()": "super().__init__()",
    "modules.size": "modules.d_model",
    "d_model, sentence)": "d_model, src_vocab)",
    "d_model, result_sentence)": "d_model, tgt_vocab)",
    "model = Whole(": "return Whole(",
    "math.sqrt": "m.sqrt",
    "self.PE": "self.pe",
    "self.linears[-1]": "self.W_o",
    "W_v = (make(bias=False) for _ in range(2))": (
        "W_v, self.W_o = (make(bias=False) for _ in range(3))"
    ),
    "Q @ K /": "Q @ K.mT /",
}
# And what is left, when the chapter has shown how one is found.
LAST_ERRORS = {
    "if mask:": "if mask is not None:",
    "w_init(x)": "self.w_init(x)",
    "self.source_attention": "self.src_attention",
}
# Lines of the book's own attention, and the same faults in them.
SILENT = {
    "as it should be": ["weights = masked_softmax(scores, mask)"] * 2,
    "mask added": (
        "weights = masked_softmax(scores, mask)",
        "weights = torch.softmax(scores + mask, dim=-1)",
    ),
    "largest not subtracted": (
        "weights = masked_softmax(scores, mask)",
        "e = scores.where(mask, -math.inf).exp(); weights = e / e.sum(-1, "
        "keepdim=True)",
    ),
    "projections not applied": (
        "q, k, v = self.project(x, source)",
        "q, k, v = (split_heads(y, self.n_heads) for y in (x, *[x if source "
        "is None else source] * 2))",
    ),
}
Ask = Callable[[SimpleNamespace], Iterable[Finding]]


class Chart(list[tuple[str, ...]]):
    """Rows: the line, how it showed, what found it, the line repaired."""

    heads = "the line", "it showed as", "found by", "repaired"

    def __repr__(self) -> str:
        line = "{:45}{:20}{:20}{}"
        return "\n".join(line.format(*row) for row in [self.heads, *self])

    def _repr_html_(self) -> str:
        """Write a real table."""
        rows = []
        for row in self:
            wrong, showed, found, right = map(escape, row)
            code = [f"<code>{text}</code>" for text in (wrong, right)]
            rows.append([code[0], showed, found, code[1]])
        return html_table(self.heads, rows)


class Patient:
    """Cells that are mended line by line; `chart` says how.

    The first cells are those in which some functions were written, the
    others are the source's; `given` are names that they may use.
    """

    def __init__(self, *functions: FunctionType, **given: Any):
        files = (function.__code__.co_filename for function in functions)
        own = ("".join(linecache.getlines(file)) for file in files)
        parts = (HEAD, *own, CELLS)
        self.text = "\n\n\n".join(part.strip() for part in parts)
        self.arrived, self.given, self.chart = self.text, given, Chart()

    def treat(self, repairs: Mapping[str, str], ask: Ask) -> Diff:
        """Make one repair after the other; show what was wrong before."""
        versions, titles = [self.text], []
        for wrong, right in repairs.items():
            told, showed, found = diagnosis(self.complaint(ask))
            short = [text.partition("\n")[0] for text in (wrong, right)]
            self.chart.append((short[0], showed, found, short[1]))
            self.text = mend(self.text, wrong, right)
            versions.append(self.text)
            titles.append(told)
        left = self.complaint(ask) or "nothing is wrong"
        print(f"repairs: {len(repairs)}; left: {left}")
        return Diff(*versions, titles=titles)

    def complaint(self, ask: Ask) -> Exception | Finding | None:
        """Give what is wrong: an error, the first finding, or None."""
        try:
            found = ask(self.cells())
            return next((x for x in found if x.level == "broken"), None)
        except Exception as error:
            return error

    def cells(self) -> SimpleNamespace:
        """Run the cells, as they are now, and give their names."""
        lines = self.text.splitlines(keepends=True)
        linecache.cache["patient"] = len(self.text), None, lines, "patient"
        names = dict(self.given)
        exec(compile(self.text, "patient", "exec"), names)
        return SimpleNamespace(**names)

    def before_and_after(self) -> Diff:
        """Show all lines as they came, and as they are now."""
        return Diff(self.arrived, self.text, whole=True)


def mend(text: str, wrong: str, right: str) -> str:
    """Put a right text for a wrong one; … keeps the name that is there.
    Raises ValueError where there is nothing to mend.

    >>> mend("class A:", "class …:", "class …(B):")
    'class A(B):'
    """
    pattern = re.escape(wrong).replace("…", r"(\w+)")
    found, count = re.subn(
        pattern, lambda m: right.replace("…", m[m.lastindex or 0]), text
    )
    if not count:
        raise ValueError(f"{wrong!r} does not stand there.")
    return found


def diagnosis(trouble: Exception | Finding | None) -> tuple[str, str, str]:
    """Say what is wrong, how it showed, and what found it."""
    if not isinstance(trouble, Exception):
        return str(trouble), "nothing", trouble.name if trouble else "reading"
    kind, notes = type(trouble).__name__, getattr(trouble, "__notes__", [])
    told = "\n".join([f"{kind}: {trouble}", *notes])
    return told, kind, "trace's note" if notes else "message"


def guesses(model: torch.nn.Module, src: torch.Tensor) -> torch.Tensor:
    """Write the likeliest word again and again, from [SOS]: (B, S) -> (B, 8).
    Nothing stands behind the last word, not even padding."""
    tgt = torch.full_like(src[:, :1], 2)
    for _ in range(7):
        best = model(src, tgt)[:, -1].argmax(-1)
        tgt = torch.cat((tgt, best[:, None]), dim=1)
    return tgt
