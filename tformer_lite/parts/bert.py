"""BERT's states as an embedding."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tformer_lite.extras import library
from tformer_lite.model.checks import check_ids, check_length
from tformer_lite.model.layers import Linear
from tformer_lite.text.pieces import BERT_NAME, fetch


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
        bert: str | Path | nn.Module = BERT_NAME,
    ):
        super().__init__()
        self.bert = read_bert(bert).eval().requires_grad_(False)
        sizes = self.bert.config
        if sizes.vocab_size != vocab_size:
            raise ValueError(
                f"{vocab_size=} is not BERT's, which is "
                f"{sizes.vocab_size}: set src_vocab_size to it."
            )
        self.vocab_size, self.pad = vocab_size, sizes.pad_token_id
        self.max_len = sizes.max_position_embeddings
        self.projection = Linear(sizes.hidden_size, d_model)

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


def read_bert(source: str | Path | nn.Module) -> Any:
    """Give a BertModel: the one given, or one from a folder or the hub."""
    if isinstance(source, nn.Module):
        return source
    kind = library("transformers").BertModel
    return fetch(kind.from_pretrained, source)
