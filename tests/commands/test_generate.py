"""`generate`: a text that goes on, with a model from the command line."""

import io
import math
import sys
from dataclasses import replace

import pytest
import torch

from tests.helpers.commands import char, refusal
from tformer_lite import (
    Checkpoint,
    DecoderOnly,
    WordTokenizer,
    book_text,
    char_lm,
    generate,
    save_checkpoint,
    train_pieces,
    vocabulary,
)
from tformer_lite.__main__ import main
from tformer_lite.commands import writing
from tformer_lite.commands.session import known_words
from tformer_lite.commands.writing import texts
from tformer_lite.decoding.sampling import stream
from tformer_lite.example.running import seeded_model
from tformer_lite.text.pieces import PieceTokenizer


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The checkpoint of a model of two epochs."""
    folder = tmp_path_factory.mktemp("trained")
    assert main(char(folder, "--epochs", "2")) == 0
    return str(folder / "model.pt")


@pytest.mark.slow
def test_positions_that_are_never_trained_are_named_and_not_read(
    capsys, tmp_path
):
    """The witness: the text before the others' numbers were spoiled."""
    main(char(tmp_path, "--steps", "1", "--max_seq_len", "12"))
    said = capsys.readouterr()
    assert "positions 8 to 11 are never trained" in said.err
    path = tmp_path / "model.pt"
    prompt = ["generate", "amar", "--ckpt", str(path), "--seed", "1"]
    texts = set()
    for first, value in (12, 0.0), (8, 999.0), (7, 999.0):
        spoil(path, "embedding.positions.table", slice(first, None), value)
        assert main(prompt) == 0
        texts.add(capsys.readouterr().out)
        assert len(texts) == (2 if first == 7 else 1)
    assert {*map(len, texts)} == {105}
    main(char(tmp_path, "--steps", "1"))
    assert "never trained" not in capsys.readouterr().err


def spoil(path, name: str, place, value: float) -> None:
    """Give some of a checkpoint's weights another value."""
    packed = torch.load(path, weights_only=True)
    packed["model_state_dict"][name][place] = value
    torch.save(packed, path)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_weights_that_are_no_numbers_are_named(capsys, tmp_path, value):
    main(char(tmp_path, "--steps", "1"))
    path = tmp_path / "model.pt"
    for name in "head.weight", "embedding.tokens.weight":
        spoil(path, name, 0, value)
    says = "has NaN or infinity in embedding.tokens.weight, head.weight: its"
    assert says in refusal(capsys, "generate", "amar", "--ckpt", str(path))
    again = refusal(capsys, *char(tmp_path, "--resume", "--steps", "2"))
    assert says in again


def test_each_character_is_printed_before_the_next_is_computed(
    trained, monkeypatch
):
    """The witness: what has left the program when the model is asked."""
    pipe, seen = io.BytesIO(), []

    def watched(*args, **options):
        for new in stream(*args, **options):
            seen.append(len(pipe.getvalue()))
            yield new

    monkeypatch.setattr(writing, "stream", watched)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe))
    command = ["generate", "amar", "--ckpt", trained]
    assert main([*command, "--max_new_tokens", "9"]) == 0
    assert seen == [*range(4, 13)]
    assert len(pipe.getvalue()) == 14  # the last, and a line feed


def test_without_a_prompt_each_line_is_one_and_unknown_letters_left_out(
    capsys, trained, monkeypatch
):
    prompts = ["amar", "sonar", "ami"]
    lines = io.StringIO("amar\nsonar\n\nXY\nXaYmi\n")
    monkeypatch.setattr(sys, "stdin", lines)
    ckpt = ["--ckpt", trained, "--max_new_tokens", "3"]
    assert main(["generate", *ckpt]) == 2
    said = capsys.readouterr()
    assert len(said.out) == len("amar123|sonar123|ami123|")
    assert [said.out[:4], said.out[8:13], said.out[17:20]] == prompts
    assert "tformer_lite: no character of the prompt 'XY'" in said.err
    left_out = "Not in the vocabulary, and left out: 'X', 'Y'\n"
    assert said.err.endswith(left_out)
    assert "there is no prompt" in refusal(capsys, "generate", *ckpt)


@pytest.mark.slow
def test_a_seed_gives_the_same_text_again(capsys, trained):
    prompt = ["generate", "amar", "--ckpt", trained]
    texts = []
    for seed in ("1", "1", "2"):
        main([*prompt, "--seed", seed])
        texts.append(capsys.readouterr().out)
    main(prompt)
    texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["words", "pieces"])
def test_a_checkpoint_with_words_writes_words(kind, capsys, tmp_path):
    """The witness: `generate`, and the tokenizer."""
    text = book_text()[:20_000].split("\n")
    if kind == "words":
        cut = WordTokenizer({}).split
        tokenizer = WordTokenizer(vocabulary(text, cut, 400))
    else:
        train_pieces(text, 300, tmp_path / "pieces.txt")
        tokenizer = PieceTokenizer(tmp_path / "pieces.txt")
    config = replace(char_lm, vocab_size=len(tokenizer), max_len=16)
    model = seeded_model(DecoderOnly, config, 3).eval()
    with torch.no_grad():
        model.head.weight[:4] = -9  # no specials
    path = str(tmp_path / "model.pt")
    save_checkpoint(Checkpoint(model, (tokenizer,), 8), path)
    command = ["generate", "THE shape, of Zyqqy", "--ckpt", path]
    command += ["--top_k", "1"]
    assert main([*command, "--max_new_tokens", "20"]) == 0
    said = capsys.readouterr()
    known, unknown = known_words("THE shape, of Zyqqy", tokenizer)
    row = generate(model, tokenizer.encode([known]), 20, window=8)[0]
    assert said.out == f"{tokenizer.decode(row)}\n"
    assert said.out.lower().startswith("the shape, of")
    assert len(row) == len(known) + 20
    assert said.err == (
        "Not in the vocabulary, and read as [UNK]: 'Zyqqy'\n" * bool(unknown)
    )
    assert unknown or kind == "pieces"
    assert "has no word" in refusal(capsys, "generate", " ", "--ckpt", path)


def test_the_parts_of_a_text_are_the_text():
    """Words with their spaces."""
    words = WordTokenizer(
        {w: i for i, w in enumerate(["a", "b", ".", "!"], 4)}
    )
    prompt, new = [4, 6], [5, 5, 7, 4, 0, 5, 6] * 3
    parts = [*texts(prompt, iter(new), words)]
    assert "".join(parts) == words.decode(prompt + new)
    assert len(parts) == 1 + len(new)
