"""BERT's states as an embedding."""

from pathlib import Path

import torch
from torch import Tensor, nn

from tformer_lite.extras import library
from tformer_lite.model.checks import check_ids, check_length
from tformer_lite.model.layers import Linear
from tformer_lite.text.pieces import NAME, fetch


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
