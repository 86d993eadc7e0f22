"""The command `translate`: a model translates."""

from argparse import Namespace
from collections.abc import Iterator
from itertools import chain

import torch
from torch import Tensor

from tformer_lite.commands.looking import (
    check_picture,
    save_heatmap,
    show_shapes,
)
from tformer_lite.commands.session import parts_in, say, warn
from tformer_lite.commands.typed import (
    at_terminal,
    brief,
    check_readable,
    known_words,
    lines_asked,
    lines_typed,
)
from tformer_lite.decoding.doubts import Usual, least_sure, word_triples
from tformer_lite.decoding.search import beam
from tformer_lite.example import shipped
from tformer_lite.text.datasets import lay_out
from tformer_lite.text.tokenizers import EOS, SOS, SPECIALS, UNK
from tformer_lite.training.checkpoints import load_checkpoint

WRONG = 2
HALF = 0.5
SHOWN = 3  # strange places in a warning
NO_TRIPLES = torch.empty(0, 3, dtype=torch.long)


def translate(args: Namespace) -> int:
    """Translate sentences, with the trained English-Nepali translator or one
    of `train translate`. A line that cannot be translated is an empty line,
    says why on stderr, and makes the exit code 2 in the end."""
    if args.heatmap or args.shapes:
        check_one(args)
    translator, code = Translator(args), 0
    for place, sentence in sentences(args):
        if not sentence.strip():
            say("")
            continue
        try:
            src = translator.read(sentence, place)
        except ValueError as error:
            warn(f"tformer_lite: {place}{error}")
            if not args.interactive:
                say("")  # line n stays the translation of line n
                code = WRONG
            continue
        row = translator.write(src, place)
        say(translator.target.decode(row))
        if args.heatmap or args.shapes:
            look(args, translator, src, row)
    return code


def check_one(args: Namespace) -> None:
    """Raise ValueError unless there is one sentence to look into."""
    if args.heatmap:
        check_picture(args.heatmap)
    given = [sentence for sentence in args.sentences if sentence.strip()]
    if len(given) != 1 or len(args.sentences) > 1 or args.interactive:
        raise ValueError(
            "--heatmap and --shapes look into one sentence: give one, in "
            "quotes."
        )
    if args.max_len == 1:
        raise ValueError("--max_len 1 leaves no word to look at: give more.")


def look(args: Namespace, own: "Translator", src: Tensor, row: Tensor) -> None:
    """Draw and print what happens with a sentence inside."""
    ids = zip((own.source, own.target), (src[0].tolist(), row.tolist()))
    names = [[one.words.get(i, "[UNK]") for i in row] for one, row in ids]
    words = names[0], names[1]
    if args.heatmap:
        save_heatmap(args.heatmap, own.model, src, row, words)
    if args.shapes:
        show_shapes(own.model, src, row, words)


def sentences(args: Namespace) -> Iterator[tuple[str, str]]:
    """Give each sentence, and before it, where it stands among several."""
    given = args.sentences
    if args.interactive:
        for sentence in chain(given, lines_asked("translate> ")):
            yield "", sentence
    elif given:
        for number, sentence in enumerate(given, 1):
            yield f"sentence {number}: " if given[1:] else "", sentence
    elif at_terminal():
        raise ValueError(
            "there is nothing to translate: give a sentence, in quotes, or "
            "--interactive."
        )
    else:
        for number, line in enumerate(lines_typed(), 1):
            yield f"line {number}: ", line


class Translator:
    """A model that translates, how it reads and writes, and what is usual
    in the sentences that it was trained on."""

    def __init__(self, args: Namespace):
        if args.ckpt is None:
            kept = shipped.trained_translator()
            kept.word_triples = corpus_triples()
        else:
            kept = load_checkpoint(args.ckpt)
        parts = parts_in(kept, args.ckpt, "translate")
        self.model, (self.source, self.target), size = parts
        self.size, self.width = size, args.beam
        self.length = args.max_len or size
        triples = kept.word_triples
        self.usual = Usual(NO_TRIPLES if triples is None else triples)
        if self.length > size:
            raise ValueError(
                f"--max_len {self.length}: the translator was trained to "
                f"write {size} tokens at most, its start [SOS] included."
            )

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
        (row,) = beam(self.model, src, SOS, EOS, self.length, self.width)
        if UNK not in src and (why := doubt(self, src, row)):
            warn(f"{place}{why}: this translation may be wrong.")
        return row


def doubt(own: Translator, src: Tensor, row: Tensor) -> str:
    """Say why a translation may be wrong; "" where nothing tells so."""
    if odd := own.usual.strange(src[0].tolist()):
        some = [[own.source.words[i] for i in part] for part in odd[:SHOWN]]
        return (
            "No sentence that the translator was trained on has "
            f"{' or '.join(map(quoted, some))}"
        )
    sure = least_sure(own.model, src, row)
    if sure >= HALF:
        return ""
    return f"The translator gives a word that it writes a chance of {sure:.0%}"


def corpus_triples() -> Tensor:
    """List which words follow each other in the shipped corpus."""
    both = shipped.english_tokenizer(), shipped.nepali_tokenizer()
    return word_triples(lay_out(shipped.english_nepali(), *both).src)


def quoted(words: list[str]) -> str:
    """Quote words that follow each other, and say if they begin or end."""
    text = " ".join(word for word in words if word not in SPECIALS)
    places = {"[SOS]": " at its start", "[EOS]": " at its end"}
    where = [place for word, place in places.items() if word in words]
    return repr(text.replace(" ##", "")) + " and".join(where)
