"""Explore: the attentions of a run, for a reader to walk through."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shapewatch.tracing import SavedTrace, Trace
from shapewatch.tracing.questions.attention import Attention
from tformer_lite.explorer.scripts import FOLDER, joined
from tformer_lite.explorer.shown import Shown, shown
from tformer_lite.explorer.tables import tables

MODULES = [FOLDER / f"{name}.mjs" for name in ("sums", "grid", "attentions")]
MOST = 1_000_000  # numbers in one output
Labels = Sequence[str] | Sequence[Sequence[str]] | None
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
class Exploration:
    """What `explore` gives: in a notebook a panel to walk through, where no
    script runs its tables, and in a terminal what there is to explore."""

    found: list[Shown]
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
        live = LIVE.format(key=key, start=json.dumps(self.start))
        return (
            f'<style>{style}</style><div class="explorer {key}">'
            f'<script type="application/json">{safe}</script>'
            f'<div class="still">{tables(self.found)}</div></div>'
            f"<script>(() => {{\n{joined(MODULES)}\n{live}}})();</script>"
        )

    def save(self, file: str | Path) -> None:
        """Write a page that needs nothing beside it."""
        Path(file).write_text(PAGE.format(self._repr_html_()), "utf8")


def explore(
    seen: Trace | SavedTrace | Attention | Sequence[Attention],
    rows: Labels = None,
    columns: Labels = None,
    *,
    example: int = 0,
    step: str = "weights",
    head: int = 0,
) -> Exploration:
    """Walk through every attention of a run: each head, each step, and for
    each number how it was made, from the queries to what the weights mix.

    `seen` is a trace with keep=True, or what its `attention()` finds. `rows`
    are the words of the queries and `columns` those of the keys (left out,
    they are the same): one list, or one for each attention. Of a batch the
    sentence `example` is shown. `step` and `head` come first: queries, keys,
    values, scores, masked, weights or mixed. Raises ValueError for a run
    without attentions, for words that do not fit, and for too many numbers.

    >>> explore(running_trace())
    encoder.blocks.0.self_attention (B, H, S, S)
    decoder.blocks.0.self_attention (B, H, T, T)
    decoder.blocks.0.cross_attention (B, H, T, S)
    To walk through them: a notebook, or .save(file) for a page.
    """
    found = attentions(seen)
    if not found:
        raise ValueError("there is no attention in this run to explore.")
    made = [
        shown(one, example, words(rows, i), words(columns or rows, i))
        for i, one in enumerate(found)
    ]
    count = sum(part.numel() for one in made for part in one.parts.values())
    if count > MOST:
        raise ValueError(
            f"{count:,} numbers are more than a page can show ({MOST:,}): "
            "explore some of seen.attention(), or trace fewer words."
        )
    known = {name for one in made for name in one.parts}
    if step not in known:
        raise ValueError(
            f"step {step!r}: known are {', '.join(sorted(known))}."
        )
    return Exploration(made, {"step": step, "head": head})


def attentions(
    seen: Trace | SavedTrace | Attention | Sequence[Attention],
) -> Sequence[Attention]:
    """List the attentions of a run, or those that are given."""
    if isinstance(seen, Attention):
        return [seen]
    if isinstance(seen, Trace | SavedTrace):
        return seen.attention()
    return seen


def words(labels: Any, i: int) -> Any:
    """Find the words of an attention."""
    return labels if not labels or isinstance(labels[0], str) else labels[i]
