"""Pretrained BERT: its WordPiece tokenizer, and its states as embedding."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor, nn

from tformer_lite.checks import check_ids, check_length
from tformer_lite.linear import Linear

NAME = "bert-base-uncased"


def library(name: str) -> ModuleType:
    """Import a library of the `bert` extra; ImportError says how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"BERT needs the library {name}, which is not installed: run "
            "pip install transformers tokenizers, or in a copy of this "
            "project, pip install .[bert]."
        ) from error


def fetch(load: Callable, source: str | Path):
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

    def __init__(self, source: str | Path = NAME):
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
        return torch.tensor([row.ids for row in rows])

    def decode(self, ids: Tensor) -> list[str]:
        """Turn ids (B, T) into texts, without the special tokens."""
        return self.pieces.decode_batch(ids.tolist())


class BertEmbedding(nn.Module):
    """Give each WordPiece id its state in a frozen BERT, projected.

    `bert` is a hub name, a local folder, or a BertModel. BERT is never
    trained and never drops anything; only the projection to `d_model`
    learns. `vocab_size` must be BERT's. Devlin et al. (2019), section 5.3.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        bert: str | Path | nn.Module = NAME,
    ):
        super().__init__()
        if not isinstance(bert, nn.Module):
            model = library("transformers").BertModel
            bert = fetch(model.from_pretrained, bert)
        if bert.config.vocab_size != vocab_size:
            raise ValueError(
                f"{vocab_size=} is not BERT's, which is "
                f"{bert.config.vocab_size}: set src_vocab_size to it."
            )
        self.bert = bert.eval().requires_grad_(False)
        self.vocab_size, self.pad = vocab_size, bert.config.pad_token_id
        self.max_len = bert.config.max_position_embeddings
        self.projection = Linear(bert.config.hidden_size, d_model)

    def train(self, mode: bool = True) -> "BertEmbedding":
        """Switch the projection; BERT itself stays as in evaluation."""
        super().train(mode)
        self.bert.eval()
        return self

    def forward(self, ids: Tensor) -> Tensor:
        """Project the last hidden state of each id: (B, S) -> (B, S, C).

        Raises ValueError for an id outside the vocabulary and for a
        sequence longer than BERT's positions.
        """
        check_ids(ids, self.vocab_size)
        check_length(ids.shape[1], self.max_len)
        with torch.no_grad():
            seen = (ids != self.pad).long()
            states = self.bert(ids, attention_mask=seen).last_hidden_state
        return self.projection(states)
