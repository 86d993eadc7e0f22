"""`generate`: a text that goes on, with a model from the command line."""

import io
import math
import sys
import unicodedata

import pytest
import torch

from tests.helpers.commands import TEXT, char, refusal
from tformer_lite import generate, load_checkpoint
from tformer_lite.__main__ import main
from tformer_lite.commands import writing
from tformer_lite.decoding.sampling import stream


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a model of two epochs."""
    folder = tmp_path_factory.mktemp("trained")
    assert main(char(folder, "--epochs", "2")) == 0
    return folder


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


@pytest.mark.slow
def test_generating_with_one_choice_is_the_likeliest(capsys, trained):
    """The witness: `generate`, which takes the likeliest."""
    prompt = ["generate", "amar", "--ckpt", str(trained / "model.pt")]
    assert main([*prompt, "--top_k", "1", "--num_samples", "2"]) == 0
    kept = load_checkpoint(trained / "model.pt")
    (tokenizer,) = kept.tokenizers
    row = generate(kept.model, tokenizer.encode("amar")[None], 100)[0]
    text = tokenizer.decode(row)
    both = f"---- Sample 1 ----\n{text}\n---- Sample 2 ----\n{text}\n"
    assert capsys.readouterr().out == both


def test_greedy_is_the_likeliest_and_draws_nothing(capsys, trained):
    prompt = ["generate", "amar", "--ckpt", str(trained / "model.pt")]
    assert main([*prompt, "--top_k", "1"]) == 0
    wanted = capsys.readouterr().out
    assert main([*prompt, "--greedy"]) == 0
    assert capsys.readouterr().out == wanted
    said = refusal(capsys, *prompt, "--greedy", "--seed", "1")
    assert "leave out --seed" in said


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--temperature 0", "0 is no number above 0; to take the likeliest"),
        ("--temperature inf", "inf is no number above 0"),
        ("--temperature nan", "nan is no number above 0"),
        ("--top_p 0", "0 is not between 0 and 1, or leaves nothing to draw"),
        ("--top_p 2", "2 is not between 0 and 1"),
        ("--top_k -1", "-1 is less than 0"),
    ],
)
def test_what_draws_nothing_is_answered_with_options(
    option, said, capsys, trained
):
    prompt = ["generate", "amar", "--ckpt", str(trained / "model.pt")]
    answer = refusal(capsys, *prompt, *option.split())
    assert f"argument {option.split()[0]}: " in answer
    assert said in answer
    assert "likeliest`" not in answer


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
    command = ["generate", "amar", "--ckpt", str(trained / "model.pt")]
    assert main([*command, "--max_new_tokens", "9"]) == 0
    assert seen == [*range(4, 13)]
    assert len(pipe.getvalue()) == 14  # the last, and a line feed


def test_prompts_are_asked_for_again_and_again(capsys, trained, monkeypatch):
    prompts = ["amar", "sonar", "ami"]
    lines = io.StringIO("sonar\nXY\nami\n\nmore\n")
    monkeypatch.setattr(sys, "stdin", lines)
    ckpt = ["--ckpt", str(trained / "model.pt"), "--max_new_tokens", "3"]
    assert main(["generate", "amar", *ckpt, "--interactive"]) == 0
    said = capsys.readouterr()
    assert len(said.out) == len("amar123|sonar123|ami123|")
    assert [said.out[:4], said.out[8:13], said.out[17:20]] == prompts
    assert "tformer_lite: no character of the prompt 'XY'" in said.err


@pytest.mark.slow
def test_a_seed_gives_the_same_text_again(capsys, trained):
    prompt = ["generate", "amar", "--ckpt", str(trained / "model.pt")]
    texts = []
    for seed in ("1", "1", "2"):
        main([*prompt, "--seed", seed])
        texts.append(capsys.readouterr().out)
    main(prompt)
    texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3


def test_characters_outside_the_vocabulary_are_left_out_with_a_warning(
    capsys, trained
):
    ckpt = ["--ckpt", str(trained / "model.pt"), "--max_new_tokens", "3"]
    assert main(["generate", "aXmXYar", *ckpt]) == 0
    said = capsys.readouterr()
    assert said.err == "Not in the vocabulary, and left out: 'X', 'Y'\n"
    assert said.out.startswith("amar")
    assert main(["generate", "XY", *ckpt]) == 2
    said = capsys.readouterr()
    assert "no character of the prompt 'XY'" in said.err
    assert said.out == ""


@pytest.mark.slow
def test_a_letter_in_two_parts_is_the_letter(capsys, tmp_path):
    text = unicodedata.normalize("NFD", "é")
    main(char(tmp_path, "--steps", "1", text=TEXT.replace("a", text)))
    capsys.readouterr()
    main(["generate", text, "--ckpt", str(tmp_path / "model.pt")])
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out[0] == "é"


def test_a_prompt_that_is_left_out_is_asked_for(capsys, trained, monkeypatch):
    command = ["generate", "--ckpt", str(trained / "model.pt")]
    monkeypatch.setattr(sys, "stdin", io.StringIO("sonar\nmore\n"))
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("sonar")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert "there is no prompt" in refusal(capsys, *command)
