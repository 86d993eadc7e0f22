"""What a translator does inside with one sentence: where it looks, and the
shapes of its steps."""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from shapewatch.tracing import Trace, trace
from tformer_lite.commands.session import say
from tformer_lite.example.running import seeded_model
from tformer_lite.model.models import EncoderDecoder

Words = tuple[list[str], list[str]]
Built = tuple[nn.Module, tuple[Tensor, ...]]
FORMS = (".png", ".svg")


def check_picture(path: str) -> None:
    """Raise ValueError for a file that is no picture by its name."""
    if Path(path).suffix.lower() not in FORMS:
        raise ValueError(
            f"--heatmap {path}: the name says how to draw: let it end in "
            f"{' or '.join(FORMS)}."
        )


def save_heatmap(
    path: str, model: EncoderDecoder, src: Tensor, row: Tensor, words: Words
) -> None:
    """Draw which words of its source each word of a translation was written
    from: the last block's cross-attention, the mean over its heads."""
    # Slow to import, and most translations are not drawn.
    from tformer_lite.drawing.attention.heatmaps import heatmap
    from tformer_lite.drawing.surface.picture import COMPLEX, SHAPES_COMPLEX

    svg = Path(path).suffix.lower() == ".svg"
    if COMPLEX.search("".join(words[1])) and not (svg or SHAPES_COMPLEX):
        raise ValueError(
            f"--heatmap {path}: this matplotlib would draw Nepali letter by "
            "letter: write an .svg, or pip install -U matplotlib."
        )
    with torch.no_grad():
        seen = trace(model, src, row[None, :-1], keep=True)
    weights = seen.attention()[-1].weights[0]
    picture = heatmap(
        weights.mean(0),
        rows=words[1][1:],
        columns=words[0],
        kind="weights",
        titles=["cross-attention, mean over heads"],
    )
    content = picture.svg().encode() if svg else picture.png()
    Path(path).write_bytes(content)
    say(f"Heatmap saved to {path}")


def show_shapes(
    model: EncoderDecoder, src: Tensor, row: Tensor, words: Words
) -> None:
    """Print the shapes of each module while it reads a sentence and its
    translation."""
    seen = proved_trace(model, src, row[None, :-1])
    for letter, shown in zip("ST", (words[0], words[1][:-1])):
        say(f"{letter}={len(shown)}: {' '.join(shown)}")
    tree = seen.tree()
    tree.more = "", ""  # no option of this command shows more
    say(str(tree))


def proved_trace(model: EncoderDecoder, src: Tensor, tgt: Tensor) -> Trace:
    """Trace a model with (1, S), (1, T): the name of each axis is proved by
    models of other sizes."""
    config = model.config
    heads, d = config.n_heads, config.d_model // config.n_heads
    sizes = dict(zip("BST", (*src.shape, tgt.shape[1])))
    sizes |= {"H": heads, "D": d, "F": config.d_ff, "V": config.vocab_size}

    def build(B: int, S: int, T: int, H: int, D: int, F: int, V: int) -> Built:
        if [*sizes.values()] == [B, S, T, H, D, F, V]:
            return model, (src, tgt)
        own = replace(config, d_model=H * D, n_heads=H, d_ff=F, vocab_size=V)
        other = replace(own, max_len=max(S, T, config.max_len))
        ids = [torch.zeros(B, n, dtype=torch.long) for n in (S, T)]
        return seeded_model(EncoderDecoder, other, 0).eval(), tuple(ids)

    with torch.no_grad():
        return trace(build=build, dims=sizes | {"C": "H*D"})
