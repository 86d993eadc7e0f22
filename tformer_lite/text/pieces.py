"""WordPiece: words cut into pieces, as BERT reads them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tformer_lite.extras import library

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
