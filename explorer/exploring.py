"""Explore: the attentions of a run, for a reader to walk through; and the
same numbers as plain tables, for where no script runs."""

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from explorer.scripts import FOLDER, join_modules
from shapewatch.tracing import Trace
from shapewatch.tracing.axes.names import shape_text
from shapewatch.tracing.questions.attention import Attention
from shapewatch.tracing.questions.operands import (
    agree,
    rows_sum_to_1,
    scale_between,
)
from tformer_lite.rounding import decimals

MODULES = [
    FOLDER / f"{name}.mjs"
    for name in ("sums", "elements", "grid", "attentions")
]
MOST_VALUES = 1_000_000  # in one output
WIDEST, MOST_TABLES = 16, 36  # columns of a table, and tables in all
SQUARE_NAMES = "scores", "masked", "weights"
OWN = "queries", "keys", "values", "mixed"
WordLists = Sequence[str] | Sequence[Sequence[str]] | None
LIVE = """\
for (const root of document.querySelectorAll(".explorer.{key}:not(.live)")) {{
  root.classList.add("live");
  const numbers = attentions(root.querySelector("script").textContent);
  root.querySelector(".still").remove();
  new Attentions(root, numbers, {start});
}}
"""
PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Attentions</title>
{}
</html>
"""


@dataclass(frozen=True)
class AttentionNumbers:
    """An attention of one sentence: its `parts` are (heads, rows, columns),
    the words those of queries and keys. Scores are `factor` times the
    products of queries and keys; 0 if they are something else."""

    title: str
    path: str
    parts: dict[str, Tensor]
    factor: float
    rows: list[str]
    columns: list[str]

    @property
    def heads(self) -> int:
        """Count the heads."""
        return len(self.parts["weights"])

    def data(self) -> dict[str, Any]:
        """Write all of it for a script: numbers as 32-bit floats, base64."""
        names = "path", "heads", "factor", "rows", "columns"
        written = {name: getattr(self, name) for name in names}
        for name, x in self.parts.items():
            numbers = x.numpy().astype("<f4").tobytes()
            written[name] = base64.b64encode(numbers).decode()
        return written


@dataclass(frozen=True)
class Exploration:
    """What `explore` gives: in a notebook a panel to walk through, where no
    script runs its tables, and in a terminal what there is to explore."""

    found: list[AttentionNumbers]
    start: dict[str, Any]

    def __repr__(self) -> str:
        lines = [one.title for one in self.found]
        note = "To walk through them: a notebook, or .save(file) for a page."
        return "\n".join([*lines, note])

    def _repr_html_(self) -> str:
        data = json.dumps([one.data() for one in self.found])
        safe = data.replace("<", "\\u003c")
        key = f"key-{hashlib.sha256(data.encode()).hexdigest()[:12]}"
        style = (FOLDER / "explorer.css").read_text("utf8")
        script = join_modules(MODULES)
        live = LIVE.format(key=key, start=json.dumps(self.start))
        return (
            f'<style>{style}</style><div class="explorer {key}">'
            f'<script type="application/json">{safe}</script>'
            f'<div class="still">{html_tables(self.found)}</div></div>'
            f"<script>(() => {{\n{script}\n{live}}})();</script>"
        )

    def save(self, file: str | Path) -> None:
        """Write a page that needs nothing beside it."""
        Path(file).write_text(PAGE.format(self._repr_html_()), "utf8")


def explore(
    seen: Trace | Attention | Sequence[Attention],
    rows: WordLists = None,
    columns: WordLists = None,
    *,
    example: int = 0,
    step: str = "weights",
    head: int = 0,
    cell: Sequence[int] = (0, 0),
) -> Exploration:
    """Walk through every attention of a run: each head, each step, and for
    each number how it was made, from the queries to what the weights mix.

    `seen` is a trace with keep=True, or what its `attention()` finds. `rows`
    are the words of the queries and `columns` those of the keys (left out,
    they are the same): one list, or one for each attention. Of a batch the
    sentence `example` is shown. `step` and `head` come first: queries, keys,
    values, scores, masked, weights or mixed; and of these the number in the
    row and column of `cell`. Raises ValueError for a run
    without attentions, for words that do not fit, and for too many numbers.

    >>> explore(running_trace())
    encoder.blocks.0.self_attention (B, H, S, S)
    decoder.blocks.0.self_attention (B, H, T, T)
    decoder.blocks.0.cross_attention (B, H, T, S)
    To walk through them: a notebook, or .save(file) for a page.
    """
    found = attentions_in(seen)
    if not found:
        raise ValueError("there is no attention in this run to explore.")
    made = [
        numbers_of(one, example, words(rows, i), words(columns or rows, i))
        for i, one in enumerate(found)
    ]
    count = sum(part.numel() for one in made for part in one.parts.values())
    if count > MOST_VALUES:
        raise ValueError(
            f"{count:,} numbers are more than a page shows ({MOST_VALUES:,}): "
            "explore some of seen.attention(), or trace fewer words."
        )
    known = {name for one in made for name in one.parts}
    if step not in known:
        raise ValueError(
            f"step {step!r}: known are {', '.join(sorted(known))}."
        )
    return Exploration(made, {"step": step, "head": head, "cell": [*cell]})


def attentions_in(
    seen: Trace | Attention | Sequence[Attention],
) -> Sequence[Attention]:
    """List the attentions of a run, or those that are given."""
    if isinstance(seen, Attention):
        return [seen]
    if isinstance(seen, Trace):
        return seen.attention()
    return seen


def words(labels: Any, i: int) -> Any:
    """Find the words of an attention."""
    return labels if not labels or isinstance(labels[0], str) else labels[i]


# --- One attention --------------------------------------------------------


def numbers_of(
    found: Attention,
    example: int,
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
) -> AttentionNumbers:
    """Choose a sentence, and lay its numbers out. Raises ValueError for a
    sentence that is not there, and for words that do not fit."""
    square = dict(zip(SQUARE_NAMES, queries_in_rows(found)))
    own = {name: getattr(found, name) for name in OWN}
    parts = square | {name: x for name, x in own.items() if x is not None}
    weights = parts["weights"]
    several = weights.ndim > 3 or found.axes[0].name == "B"
    if several and not -len(weights) <= example < len(weights):
        raise ValueError(f"{example=}: this run has {len(weights)} sentences.")
    chosen = {
        name: heads_of(x[example] if several else x)
        for name, x in parts.items()
    }
    order = [*OWN[:3], *SQUARE_NAMES, OWN[3]]
    times = 0.0
    if "queries" in chosen:
        three = (chosen[name] for name in ("queries", "keys", "scores"))
        times = scale_between(*three)
    return AttentionNumbers(
        f"{found.path or 'the model'} {shape_text(found.axes)}",
        found.path,
        {name: chosen[name] for name in order if name in chosen},
        times,
        labels("rows", rows, weights.shape[-2]),
        labels("columns", columns, weights.shape[-1]),
    )


def queries_in_rows(found: Attention) -> list[Tensor]:
    """Put queries in rows and keys in columns."""
    three = [found.scores, found.masked, found.weights]
    ways = three, [x.mT for x in three]
    for way in ways:
        if explains(way[-1], found) or (
            found.values is None and rows_sum_to_1(way[-1])
        ):
            return list(way)
    names = [axis.name for axis in found.axes]
    size = found.weights.ndim
    sums = (found.weights.movedim(i, -1) for i in range(size))
    key = next((i for i, x in enumerate(sums) if rows_sum_to_1(x)), size - 1)
    rest = [i for i in range(size) if i != key]
    query = next((i for i in rest if names[i].startswith("T")), rest[-1])
    rest.remove(query)
    return [x.permute(*rest, query, key) for x in three]


def explains(weights: Tensor, found: Attention) -> bool:
    """Whether weights, this way round, mix the values to what came of it."""
    v, made = found.values, found.mixed
    if v is None or made is None or weights.shape[-1] != v.shape[-2]:
        return False
    return agree(weights @ v.to(weights), made)


def heads_of(x: Tensor) -> Tensor:
    """Give the heads of a sentence: (..., T, S) -> (H, T, S)."""
    return x.detach().cpu().float().reshape(-1, *x.shape[-2:]).contiguous()


def labels(what: str, given: Sequence[str] | None, size: int) -> list[str]:
    """Check words; number positions without them."""
    if given is None:
        return [str(i) for i in range(size)]
    if len(given) != size:
        raise ValueError(
            f"{len(given)} words for {size} {what}: give one for each."
        )
    return list(map(str, given))


# --- Tables ---------------------------------------------------------------


def html_tables(found: Iterable[AttentionNumbers]) -> str:
    """Write scores and weights of each head, folded by attention."""
    written, left = "", MOST_TABLES
    for one in found:
        made = list(each_table(one)) if len(one.columns) <= WIDEST else []
        inside = "".join(made[: max(left, 0)])
        inside = inside or "<p>Its tables are too large to write out.</p>"
        head = f"<summary>{html.escape(one.title)}</summary>"
        written += f"<details>{head}{inside}</details>"
        left -= len(made)
    return written


def each_table(one: AttentionNumbers) -> Iterator[str]:
    """Write a table for each head and step; masked scores only where they
    differ."""
    same = one.parts["masked"].equal(one.parts["scores"])
    for h in range(one.heads):
        for name in SQUARE_NAMES:
            if not (same and name == "masked"):
                yield html_table(one, name, h)


def html_table(one: AttentionNumbers, name: str, h: int) -> str:
    """Write a step of a head: a row for each query."""
    head = "".join(
        f'<th scope="col">{html.escape(x)}</th>' for x in one.columns
    )
    rows = zip(one.rows, one.parts[name][h].tolist())
    lines = "".join(
        f'<tr><th scope="row">{html.escape(word)}</th>'
        + "".join(f"<td>{cell_text(x)}</td>" for x in row)
        + "</tr>"
        for word, row in rows
    )
    return (
        f"<table><caption>{name}, head {h}</caption>"
        f"<tr><td></td>{head}</tr>{lines}</table>"
    )


def cell_text(x: float) -> str:
    """Write a number with two decimals."""
    return decimals(x).replace("-", "−").replace("inf", "∞")
