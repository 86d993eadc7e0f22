"""The command `translate`: a model translates, and shows how."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from shapewatch.tracing import Trace, trace
from tformer_lite.commands.session import (
    at_terminal,
    check_readable,
    known_words,
    lines_typed,
    parts_in,
    say,
    warn,
)
from tformer_lite.decoding.doubts import Usual, least_sure, word_triples
from tformer_lite.decoding.search import beam
from tformer_lite.example import shipped
from tformer_lite.example.running import seeded_model
from tformer_lite.model.models import EncoderDecoder
from tformer_lite.text.datasets import lay_out
from tformer_lite.text.reading import brief
from tformer_lite.text.tokenizers import EOS, SOS, SPECIALS, UNK
from tformer_lite.training.checkpoints import load_checkpoint
from tformer_lite.training.files import check_place

SURE_ENOUGH = 0.5
STRANGE_PLACES = 3  # in a warning, at most
NO_TRIPLES = torch.empty(0, 3, dtype=torch.long)
PICTURES = (".png", ".svg")


def translate(args: Namespace) -> int:
    """Translate sentences, with the trained English-Nepali translator or one
    of `train translate`. A line that cannot be translated is an empty line,
    says why on stderr, and makes the exit code 2 in the end."""
    if args.heatmap or args.shapes:
        check_one_sentence(args)
    translator, code = Translator(args), 0
    for place, sentence in placed_sentences(args):
        if not sentence.strip():
            say("")
            continue
        try:
            src = translator.read(sentence, place)
        except ValueError as error:
            warn(f"tformer_lite: {place}{error}")
            say("")  # line n stays the translation of line n
            code = 2
            continue
        row = translator.write(src, place)
        say(translator.target.decode(row))
        if args.heatmap:
            save_heatmap(args.heatmap, translator, src, row)
        if args.shapes:
            show_shapes(translator, src, row)
    return code


def check_one_sentence(args: Namespace) -> None:
    """Raise ValueError unless there is one sentence to look into, and a
    picture's name for what is drawn."""
    path = args.heatmap
    if path and Path(path).suffix.lower() not in PICTURES:
        raise ValueError(
            f"--heatmap {path}: the name says how to draw: let it end in "
            f"{' or '.join(PICTURES)}."
        )
    if len(args.sentences) != 1 or not args.sentences[0].strip():
        raise ValueError(
            "--heatmap and --shapes look into one sentence: give one, in "
            "quotes."
        )


def placed_sentences(args: Namespace) -> Iterator[tuple[str, str]]:
    """Give each sentence, and before it, where it stands among several."""
    if given := args.sentences:
        for number, sentence in enumerate(given, 1):
            yield f"sentence {number}: " if given[1:] else "", sentence
        return
    for number, line in enumerate(lines_typed("translate> "), 1):
        yield "" if at_terminal() else f"line {number}: ", line


class Translator:
    """A model that translates, how it reads and writes, and what is usual
    in the sentences that it was trained on."""

    def __init__(self, args: Namespace):
        if args.ckpt is None:
            saved = shipped.trained_translator()
            both = shipped.english_tokenizer(), shipped.nepali_tokenizer()
            corpus = lay_out(shipped.english_nepali(), *both)
            saved.word_triples = word_triples(corpus.src)
        else:
            saved = load_checkpoint(args.ckpt)
        parts = parts_in(saved, args.ckpt, "translate")
        self.model, (self.source, self.target), size = parts
        self.size, self.width = size, args.beam
        triples = saved.word_triples
        self.usual = Usual(NO_TRIPLES if triples is None else triples)

    def read(self, sentence: str, place: str) -> Tensor:
        """Look up a sentence: -> (1, S). Words without an id are named; more
        than the model was trained with raise ValueError."""
        check_readable(sentence)
        words, unknown = known_words(sentence, self.source)
        if len(words) > self.size - 2:
            raise ValueError(
                f"{brief(sentence)} has {len(words)} words and marks, and "
                f"the translator reads {self.size - 2} at most: shorten it."
            )
        if unknown:
            names = ", ".join(map(brief, unknown))
            says = f"Not in the vocabulary, and read as [UNK]: {names}"
            warn(f"{place}{says}: this translation may be wrong.")
        return self.source.encode([["[SOS]", *words, "[EOS]"]])

    def write(self, src: Tensor, place: str) -> Tensor:
        """Translate a sentence: (1, S) -> (T); warn where it is a guess."""
        (row,) = beam(self.model, src, SOS, EOS, self.size, self.width)
        if UNK not in src and (why := doubt(self, src, row)):
            warn(f"{place}{why}: this translation may be wrong.")
        return row


def doubt(own: Translator, src: Tensor, row: Tensor) -> str:
    """Say why a translation may be wrong; "" where nothing tells so."""
    if odd := own.usual.strange(src[0].tolist()):
        places = (place_text(own, part) for part in odd[:STRANGE_PLACES])
        says = "No sentence that the translator was trained on has "
        return says + " or ".join(places)
    sure = least_sure(own.model, src, row)
    if sure >= SURE_ENOUGH:
        return ""
    return f"The translator gives a word that it writes a chance of {sure:.0%}"


def place_text(own: Translator, ids: Sequence[int]) -> str:
    """Quote words that follow each other, and say if they begin or end."""
    words = [own.source.words[i] for i in ids]
    text = " ".join(word for word in words if word not in SPECIALS)
    places = {"[SOS]": " at its start", "[EOS]": " at its end"}
    where = [place for word, place in places.items() if word in words]
    return repr(text.replace(" ##", "")) + " and".join(where)


# --- Inside, with one sentence --------------------------------------------


def sentence_words(
    own: Translator, src: Tensor, row: Tensor
) -> tuple[list[str], list[str]]:
    """Name the words of a sentence and of its translation."""
    source, target = own.source.words, own.target.words
    names = [source.get(i, "[UNK]") for i in src[0].tolist()]
    return names, [target.get(i, "[UNK]") for i in row.tolist()]


def save_heatmap(path: str, own: Translator, src: Tensor, row: Tensor) -> None:
    """Draw which words of its source each word of a translation was written
    from: the last block's cross-attention, the mean over its heads."""
    # Slow to import, and most translations are not drawn.
    from tformer_lite.drawing.attention.heatmaps import heatmap
    from tformer_lite.drawing.surface.picture import COMPLEX, SHAPES_COMPLEX

    check_place(path)
    columns, rows = sentence_words(own, src, row)
    svg = Path(path).suffix.lower() == ".svg"
    if COMPLEX.search("".join(rows)) and not (svg or SHAPES_COMPLEX):
        raise ValueError(
            f"--heatmap {path}: this matplotlib would draw Nepali letter by "
            "letter: write an .svg, or pip install -U matplotlib."
        )
    with torch.no_grad():
        seen = trace(own.model, src, row[None, :-1], keep=True)
    picture = heatmap(
        seen.attention()[-1].weights[0].mean(0),
        rows=rows[1:],
        columns=columns,
        kind="weights",
        titles=["cross-attention, mean over heads"],
    )
    content = picture.svg().encode() if svg else picture.png()
    Path(path).write_bytes(content)
    say(f"Heatmap saved to {path}")


def show_shapes(own: Translator, src: Tensor, row: Tensor) -> None:
    """Print the shapes of each module while it reads a sentence and its
    translation."""
    source, target = sentence_words(own, src, row)
    for letter, words in ("S", source), ("T", target[:-1]):
        say(f"{letter}={len(words)}: {' '.join(words)}")
    tree = proved_trace(own.model, src, row[None, :-1]).tree()
    tree.more = "", ""  # no option of this command shows more
    say(str(tree))


def proved_trace(model: EncoderDecoder, src: Tensor, tgt: Tensor) -> Trace:
    """Trace a model with (1, S), (1, T): the name of each axis is proved by
    models of other sizes."""
    config = model.config
    heads, d = config.n_heads, config.d_model // config.n_heads
    sizes = dict(zip("BST", (*src.shape, tgt.shape[1])))
    sizes |= {"H": heads, "D": d, "F": config.d_ff, "V": config.vocab_size}

    def build(
        B: int, S: int, T: int, H: int, D: int, F: int, V: int
    ) -> tuple[nn.Module, tuple[Tensor, ...]]:
        if [*sizes.values()] == [B, S, T, H, D, F, V]:
            return model, (src, tgt)
        own = replace(config, d_model=H * D, n_heads=H, d_ff=F, vocab_size=V)
        other = replace(own, max_len=max(S, T, config.max_len))
        ids = [torch.zeros(B, n, dtype=torch.long) for n in (S, T)]
        return seeded_model(EncoderDecoder, other, 0).eval(), tuple(ids)

    with torch.no_grad():
        return trace(build=build, dims=sizes | {"C": "H*D"})
