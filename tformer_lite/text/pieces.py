"""WordPiece: words cut into pieces, BERT's and one's own."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tformer_lite.extras import library
from tformer_lite.text.tokenizers import SPECIALS, WordTokenizer

BERT_NAME = "bert-base-uncased"


def fetch(load: Callable, source: str | Path) -> Any:
    """Load from a folder or the hub; OSError names what could not be had."""
    try:
        return load(str(source))
    except (OSError, ValueError) as error:
        raise OSError(
            f"{str(source)!r} is neither a folder with BERT's files nor a "
            "hub name that could be fetched: give a folder, or connect."
        ) from error


class WordPieceTokenizer:
    """Cut texts into pieces of words, as BERT reads them.

    `source` is a hub name, or a local folder with `tokenizer.json` or
    `vocab.txt`. Wu et al. (2016), section 4.1; Devlin et al. (2019),
    section 3.
    """

    def __init__(self, source: str | Path = BERT_NAME):
        tokenizers, folder = library("tokenizers"), Path(source)
        if (folder / "tokenizer.json").is_file():
            file = str(folder / "tokenizer.json")
            self.pieces = tokenizers.Tokenizer.from_file(file)
        elif (folder / "vocab.txt").is_file():
            file = str(folder / "vocab.txt")
            self.pieces = tokenizers.BertWordPieceTokenizer(file)
        else:
            self.pieces = fetch(tokenizers.Tokenizer.from_pretrained, source)
        self.pad, self.start, self.end = map(
            self.pieces.token_to_id, ("[PAD]", "[CLS]", "[SEP]")
        )
        self.pieces.enable_padding(pad_id=self.pad)

    def encode(self, texts: list[str]) -> Tensor:
        """Turn texts into ids from [CLS] to [SEP], padded: -> (B, S)."""
        rows = self.pieces.encode_batch(texts)
        return torch.tensor([row.ids for row in rows], dtype=torch.long)

    def decode(self, ids: Tensor) -> list[str]:
        """Turn ids (B, T) into texts, without the special tokens."""
        return self.pieces.decode_batch(ids.tolist())


class PieceTokenizer(WordTokenizer):
    """Turn pieces of words into ids and back, as WordTokenizer does words.

    `file` is a vocabulary that `train_pieces` saved. Words are cut as
    WordTokenizer cuts them, then each into the longest pieces there are;
    all but a word's first begin with ##. A word that no pieces make up
    becomes [UNK]. Wu et al. (2016), section 4.1.
    """

    def __init__(self, file: str | Path):
        pieces = Path(file).read_text("utf8").split()
        super().__init__({piece: i for i, piece in enumerate(pieces)})
        model = library("tokenizers").models.WordPiece
        self.pieces = model(self.ids, unk_token="[UNK]")

    def split(self, text: str) -> list[str]:
        """Cut a text into pieces of words."""
        words = super().split(text)
        return [p.value for word in words for p in self.pieces.tokenize(word)]

    def decode(self, ids: Tensor | list[int]) -> str:
        """Write a row of ids (T) as a text, its pieces joined to words."""
        return super().decode(ids).replace(" ##", "")


def train_pieces(texts: Iterable[str], size: int, file: str | Path) -> None:
    """Train a WordPiece vocabulary of up to `size` ids, and save it.

    The file has a piece a line, the four specials first. The same texts
    may give another vocabulary next time: the file is what to keep. Raises
    ValueError when `size` is too small for the characters of the texts.
    """
    tokenizers, split = library("tokenizers"), WordTokenizer({}).split
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=[*SPECIALS], show_progress=False
    )
    model = tokenizers.models.WordPiece(unk_token="[UNK]")
    pieces = tokenizers.Tokenizer(model)
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    pieces.train_from_iterator((" ".join(split(t)) for t in texts), trainer)
    ids = pieces.get_vocab()
    if len(ids) > size:
        raise ValueError(
            f"{size=} is too small: specials and single characters alone "
            f"are {len(ids)} pieces."
        )
    Path(file).write_text("\n".join(sorted(ids, key=ids.get)), "utf8")
