"""WordPiece and a frozen BERT, with a small one made here.

The tokenizer and the states have witnesses in the transformers library.
"""

import sys
from dataclasses import replace
from functools import partial

import pytest
import torch
from tokenizers import BertWordPieceTokenizer
from torch.testing import assert_close
from transformers import BertConfig, BertModel, BertTokenizer

from tformer_lite import (
    BertEmbedding,
    EncoderDecoder,
    WordPieceTokenizer,
    bert_window,
)
from tformer_lite.text.pieces import BERT_NAME

WORDS = "hello this is an example sentence ##s token ##ization . ,"
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split()]
V = len(PIECES)
SENTENCE = "Hello this is an example sentence"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT of bert-base's width and one layer, as transformers saves it."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("bert")
    (folder / "vocab.txt").write_text("\n".join(PIECES), encoding="utf8")
    bert = BertModel(BertConfig(vocab_size=V, num_hidden_layers=1))
    bert.save_pretrained(folder)
    pieces = BertWordPieceTokenizer(str(folder / "vocab.txt"))
    (folder / "whole").mkdir()
    pieces.save(str(folder / "whole" / "tokenizer.json"))
    return folder


@pytest.fixture(scope="module")
def model(folder):
    """`bert_window` with that BERT, one layer and its vocabulary."""
    torch.manual_seed(0)
    read = partial(BertEmbedding, bert=folder)
    sizes = {"vocab_size": V, "n_layers": 1, "src_embedding": read}
    return EncoderDecoder(replace(bert_window, **sizes))


def test_pieces_and_padding_are_those_of_berts_own_tokenizer(folder):
    texts = [SENTENCE, "Tokenizations, hello."]
    mine = WordPieceTokenizer(folder)
    theirs = BertTokenizer(str(folder / "vocab.txt"))
    ids = theirs(texts, padding=True, return_tensors="pt").input_ids
    assert mine.encode(texts).equal(ids)
    assert mine.encode(texts[:1]).shape == (1, 8)  # as the source's
    assert (mine.pad, mine.start, mine.end) == (0, 2, 3)
    assert mine.pieces.decode_batch(ids.tolist()) == [
        SENTENCE.lower(),
        "tokenizations, hello.",
    ]
    assert WordPieceTokenizer(folder / "whole").encode(texts).equal(ids)


def test_states_are_berts_last_and_projected(folder):
    ids = WordPieceTokenizer(folder).encode([SENTENCE, "hello"])
    embedding = BertEmbedding(V, 12, folder)
    bert = BertModel.from_pretrained(folder).eval()
    with torch.no_grad():
        states = bert(ids, attention_mask=(ids != 0).long()).last_hidden_state
    assert states.shape == (2, 8, 768)
    assert_close(embedding(ids), states @ embedding.projection.weight.mT)
    assert_close(embedding(ids[1:, :3]), embedding(ids)[1:, :3])


def test_bert_is_frozen_and_only_the_rest_learns(model):
    embedding = model.train().src_embedding.tokens
    ids = torch.tensor([[2, 5, 6, 7, 3, 0]])
    assert embedding(ids).equal(embedding(ids))  # BERT drops nothing
    model(ids, ids).sum().backward()
    assert not any(p.requires_grad for p in embedding.bert.parameters())
    assert embedding.projection.weight.grad.abs().sum() > 0


def test_what_bert_cannot_take_is_named(folder):
    with pytest.raises(ValueError, match=f"vocab_size=99 .* {V}"):
        BertEmbedding(99, 12, folder)
    embedding = BertEmbedding(V, 12, folder)
    with pytest.raises(ValueError, match=f"id {V} is outside"):
        embedding(torch.tensor([[2, V]]))
    with pytest.raises(ValueError, match="513 positions .* max_len=512"):
        embedding(torch.full((1, 513), 5))


@pytest.mark.parametrize(
    ("part", "missing"),
    [
        (partial(BertEmbedding, V, 12), "transformers"),
        (WordPieceTokenizer, "tokenizers"),
    ],
)
def test_what_is_not_there_is_said_so(part, missing, monkeypatch):
    with pytest.raises(OSError, match="'no/such/bert' is neither a folder"):
        part("no/such/bert")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=missing) as caught:
        part(BERT_NAME)
    said = str(caught.value)
    assert "pip install transformers tokenizers" in said
    assert ".[bert]" in said
    assert ". " not in said
