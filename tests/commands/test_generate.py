"""`generate`: a text that goes on, with a model from the command line, or with
one of one's own."""

import io
import math
import sys
from dataclasses import replace
from types import SimpleNamespace

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
    """The witness: a table whose other positions are no numbers."""
    main(char(tmp_path, "--steps", "1", "--max_seq_len", "12"))
    said = capsys.readouterr()
    assert "positions 8 to 11 are never trained" in said.err
    path = tmp_path / "model.pt"
    packed = torch.load(path, weights_only=True)
    packed["model_state_dict"]["embedding.positions.table"][8:] = math.nan
    torch.save(packed, path)
    prompt = ["generate", "amar", "--ckpt", str(path)]
    assert main(prompt) == 0
    assert len(capsys.readouterr().out) == 105
    refusal(capsys, *prompt, "--context", "12")
    said = refusal(capsys, *prompt, "--context", "13")
    assert "the model has 12 positions" in said
    main(char(tmp_path, "--steps", "1"))
    assert "never trained" not in capsys.readouterr().err


def test_greedy_is_the_likeliest_and_draws_nothing(capsys, trained):
    prompt = ["generate", "amar", "--ckpt", trained]
    assert main([*prompt, "--top_k", "1"]) == 0
    wanted = capsys.readouterr().out
    assert main([*prompt, "--greedy"]) == 0
    assert capsys.readouterr().out == wanted
    said = refusal(capsys, *prompt, "--greedy", "--seed", "1")
    assert "leave out --seed" in said


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


def test_prompts_are_asked_for_and_their_unknown_characters_left_out(
    capsys, trained, monkeypatch
):
    prompts = ["amar", "sonar", "ami"]
    lines = io.StringIO("sonar\nXY\nXaYmi\n\nmore\n")
    monkeypatch.setattr(sys, "stdin", lines)
    ckpt = ["--ckpt", trained, "--max_new_tokens", "3"]
    assert main(["generate", "amar", *ckpt, "--interactive"]) == 0
    said = capsys.readouterr()
    assert len(said.out) == len("amar123|sonar123|ami123|")
    assert [said.out[:4], said.out[8:13], said.out[17:20]] == prompts
    assert "tformer_lite: no character of the prompt 'XY'" in said.err
    left_out = "Not in the vocabulary, and left out: 'X', 'Y'\n"
    assert said.err.endswith(left_out)


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


def test_a_prompt_that_is_left_out_is_asked_for(capsys, trained, monkeypatch):
    command = ["generate", "--ckpt", trained]
    monkeypatch.setattr(sys, "stdin", io.StringIO("sonar\nmore\n"))
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("sonar")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert "there is no prompt" in refusal(capsys, *command)


# Of another make: a tuple, and where nothing else is asked for, the last
# position's logits alone; no more than 8 tokens can be read.
OWN = """
from types import SimpleNamespace

import torch
from torch import nn

from tformer_lite import CharTokenizer, DecoderOnly, char_lm

class Letters:
    def encode(self, text):
        return [ord(char) - 97 for char in text]

    def decode(self, ids):
        return "".join(chr(97 + i) for i in ids)

class Next(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.9)

    def forward(self, ids):
        assert ids.shape[1] <= 8, "8 is all"
        scores = -(torch.arange(26) - (ids[:, -1:] + 1) % 26).abs().float()
        return self.dropout(scores)[:, None], None

class Named(Next):
    def forward(self, ids):
        return SimpleNamespace(logits=super().forward(ids)[0])

def make():
    return Next().eval(), Letters()

def named():
    return Named().eval(), Letters()

def ours():
    return DecoderOnly(char_lm).eval(), CharTokenizer("abc")

def alone():
    return Next()

def wrong():
    return nn.Flatten(), Letters()
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The name of a file with a model of one's own."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "own_letters.py").write_text(OWN)
    yield str(tmp_path / "own_letters.py")
    sys.modules.pop("own_letters", None)


@pytest.mark.parametrize("factory", ["make", "named"])
def test_a_model_of_ones_own_writes(factory, own, capsys):
    """The witness: the alphabet. In training, it would drop most scores."""
    command = ["generate", "xyz", "--model", f"{own}:{factory}", "--greedy"]
    assert main([*command, "--max_new_tokens", "5"]) == 0
    assert capsys.readouterr() == ("xyzabcde\n", "")
    command += ["--context", "8", "--max_new_tokens", "30"]
    assert main(command) == 0
    assert capsys.readouterr().out[3:29] == "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("make --max_new_tokens 9", "8 is all, at own_letters.py:22: assert"),
        ("make --ckpt model.pt", "are two models: give one"),
        ("alone", "gave a model and nothing: a factory gives (model, token"),
        ("wrong", "its model gave Tensor (1, 2), and no logits (B, T, V)"),
        ("ours --context 65", "the model has 64 positions"),
    ],
)
def test_what_is_wrong_with_it_is_one_line(words, said, own, capsys):
    factory, *options = words.split()
    command = ["generate", "ab", "--model", f"{own}:{factory}", "--greedy"]
    assert said in refusal(capsys, *command, *options)


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
    assert main([*command, "--greedy", "--max_new_tokens", "20"]) == 0
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
    """Words with their spaces, and characters that come byte by byte."""
    words = WordTokenizer(
        {w: i for i, w in enumerate(["a", "b", ".", "!"], 4)}
    )
    prompt, new = [4, 6], [5, 5, 7, 4, 0, 5, 6] * 3
    parts = [*texts(prompt, iter(new), words)]
    assert "".join(parts) == words.decode(prompt + new)
    assert len(parts) == 2 + len(new)
    text = "आ é ab 😀 ठूलो \ufffd"

    def decode(ids: list[int]) -> str:
        return bytes(ids).decode("utf8", "replace")

    for cut in 3, 6, 7:
        prompt, new = [*text.encode()[:cut]], text.encode()[cut:]
        parts = [*texts(prompt, iter(new), SimpleNamespace(decode=decode))]
        assert "".join(parts) == text
