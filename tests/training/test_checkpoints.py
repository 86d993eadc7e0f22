"""Checkpoints: what goes in comes out, to the last bit."""

import pytest
import torch

from tests.helpers.small import small, words
from tformer_lite import (
    CharTokenizer,
    Checkpoint,
    DecoderOnly,
    EncoderDecoder,
    PieceTokenizer,
    Recipe,
    Trainer,
    WordTokenizer,
    english_nepali,
    english_tokenizer,
    load_checkpoint,
    nepali_tokenizer,
    running_example,
    save_checkpoint,
    tiny_translator,
    train_pieces,
)

TEXT = "amar sonar bangla, ami tomay bhalobashi"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pt"


def translator():
    torch.manual_seed(0)
    return EncoderDecoder(tiny_translator)


def writer(**changes):
    torch.manual_seed(0)
    tokenizer = CharTokenizer(TEXT)
    config = small("char_lm", vocab_size=len(tokenizer), **changes)
    return DecoderOnly(config), tokenizer


def test_a_translator_with_its_words_comes_back_to_the_last_bit(path):
    model, batch = translator(), running_example()
    tokenizers = english_tokenizer(), nepali_tokenizer()
    save_checkpoint(Checkpoint(model, tokenizers, 8, [3.5], [3.25]), path)
    kept = load_checkpoint(path)
    assert kept.model.config == tiny_translator
    assert not any(part.training for part in kept.model.modules())
    logits = kept.model(batch.src, batch.tgt)
    assert logits.equal(model.eval()(batch.src, batch.tgt))
    assert (kept.block_size, kept.train_losses, kept.val_losses) == (
        8,
        [3.5],
        [3.25],
    )
    for here, there in zip(kept.tokenizers, tokenizers):
        assert type(here) is WordTokenizer
        assert (here.ids, len(here)) == (there.ids, len(there))
    assert kept.tokenizers[0].encode(batch.src_words).equal(batch.src)
    assert kept.tokenizers[1].decode(batch.labels[0]) == "[UNK] खाली थिएन ।"


def test_a_writer_with_its_characters_comes_back_to_the_last_bit(path):
    model, tokenizer = writer()
    save_checkpoint(Checkpoint(model, (tokenizer,)), path)
    kept = load_checkpoint(path)
    ids = words(len(tokenizer), 3, 7)
    assert kept.model.config == model.config
    assert kept.model(ids).equal(model.eval()(ids))
    (mine,) = kept.tokenizers
    assert type(mine) is CharTokenizer
    assert mine.encode(TEXT).equal(tokenizer.encode(TEXT))
    assert mine.decode(mine.encode(TEXT)) == TEXT


def test_pieces_of_words_come_back_as_pieces(path, tmp_path):
    texts = [english for english, _ in english_nepali("test")]
    train_pieces(texts, 120, tmp_path / "pieces.txt")
    tokenizer = PieceTokenizer(tmp_path / "pieces.txt")
    save_checkpoint(Checkpoint(writer()[0], (tokenizer,)), path)
    (mine,) = load_checkpoint(path).tokenizers
    assert mine.ids == tokenizer.ids
    assert any(len(tokenizer.split(t)) > len(t.split()) + 1 for t in texts)
    for t in texts:
        rows = [mine.row(t, 40)]
        assert rows == [tokenizer.row(t, 40)]
        assert mine.decode(mine.encode(rows)[0]) == t


def test_what_is_read_draws_no_random_numbers(path):
    save_checkpoint(Checkpoint(writer()[0]), path)
    before = torch.get_rng_state()
    load_checkpoint(path)
    assert torch.get_rng_state().equal(before)


def test_source_002s_keys_are_there_with_its_values(path):
    """Its load_model_and_tokenizer reads these, and nothing else."""
    model, tokenizer = writer(max_len=64, dropout=0.1)
    saved = Checkpoint(model, (tokenizer,), 32, [2.5, 2.0], [2.25, 2.125])
    save_checkpoint(saved, path)
    found = torch.load(path, weights_only=True)
    assert list(found)[:7] == [
        "model_state_dict",
        "vocab_size",
        "stoi",
        "itos",
        "config",
        "train_losses",
        "val_losses",
    ]
    characters = sorted(set(TEXT))
    assert found["vocab_size"] == len(characters)
    assert found["stoi"] == {c: i for i, c in enumerate(characters)}
    assert found["itos"] == dict(enumerate(characters))
    assert found["config"] == {
        "d_model": 12,
        "num_heads": 3,
        "num_layers": 2,
        "d_ff": 24,
        "max_seq_len": 64,
        "dropout": 0.1,
        "block_size": 32,
    }
    assert found["train_losses"] == [2.5, 2.0]
    assert found["val_losses"] == [2.25, 2.125]
    for name, value in model.state_dict().items():
        assert found["model_state_dict"][name].equal(value)


def test_what_was_read_has_weights_of_its_own(path):
    one = Trainer(writer()[0], Recipe(steps=1))
    save_checkpoint(one.checkpoint(), path)
    kept = load_checkpoint(path)
    with torch.no_grad():
        kept.model.head.weight.zero_()
    saved = kept.training["model_state_dict"]["head.weight"]
    assert saved.equal(one.model.head.weight)
