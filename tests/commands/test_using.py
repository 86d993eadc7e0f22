"""The command line, and what writes with a model."""

import re
import shlex
import sys

import pytest

from tests.helpers.commands import char, refusal
from tests.helpers.project import ROOT, run
from tformer_lite import generate, load_checkpoint
from tformer_lite.__main__ import COMMANDS, command_line, main
from tformer_lite.commands import FUNCTIONS

# Source 002's `train` and `parse_args`, as they stand there; its folder
# above is left out.
SOURCE = {
    "train char corpus.txt --as-in-source": {
        "file": "corpus.txt",
        "device": None,
        "save_path": "tiny_transformer.pt",
    },
    "generate": {
        "prompt": None,
        "max_new_tokens": 100,
        "temperature": 1.0,
        "top_k": 0,
        "num_samples": 1,
        "ckpt": "tiny_transformer.pt",
    },
}
FLAGS = "block_size batch_size d_model num_heads num_layers d_ff max_seq_len "
FLAGS += "dropout lr epochs device save_path"
SHOWN = re.compile(r"^python -m tformer_lite (.*?)(?:  +#.*)?$", re.MULTILINE)
PAGE = "chapters/17_character_model.md"


@pytest.mark.parametrize("command", SOURCE)
def test_the_options_and_defaults_are_those_of_source_002(command):
    options = vars(command_line().parse_args(command.split()))
    assert {n: options[n] for n in SOURCE[command]} == SOURCE[command]


def test_every_argument_of_source_002s_train_can_be_typed():
    assert COMMANDS["train char"][3].keys() >= {*FLAGS.split()}


def test_what_a_page_shows_can_be_typed():
    lines = SHOWN.findall((ROOT / PAGE).read_text("utf8"))
    assert len(lines) >= 3
    for line in lines:
        assert command_line().parse_args(shlex.split(line)).command


def test_each_command_that_is_described_is_there():
    assert FUNCTIONS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("command", ["", "train", *COMMANDS])
def test_help_needs_no_torch_and_fits_a_terminal(command):
    code = "import sys; sys.modules['torch'] = None; "
    code += "from tformer_lite.__main__ import main; "
    code += f"main({[*command.split(), '--help']})"
    done = run(ROOT, sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) < 80
    if command in COMMANDS:
        about = " ".join(done.stdout.split())
        assert f"{COMMANDS[command][0][1:]}." in about


def test_a_wrong_word_is_answered_with_the_usage(capsys):
    for words in ("", "train", "generate a --x"):
        with pytest.raises(SystemExit) as end:
            main(words.split())
        assert end.value.code == 2
        assert capsys.readouterr().err.startswith("usage: python -m tformer_l")


# --- generate -------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A writer of a few steps."""
    folder = tmp_path_factory.mktemp("trained")
    assert main(char(folder, "--steps", "30")) == 0
    return str(folder / "model.pt")


def test_samples_go_on_with_the_prompt(capsys, trained):
    words = ["generate", "amar", "--ckpt", trained, "--num_samples", "3"]
    assert main([*words, "--max_new_tokens", "9"]) == 0
    parts = re.split(r"---- Sample \d ----\n", capsys.readouterr().out)
    assert parts[0] == ""
    assert [len(part) for part in parts[1:]] == 3 * [4 + 9 + 1]
    assert all(part.startswith("amar") for part in parts[1:])


def test_the_likeliest_are_those_of_the_library(capsys, trained):
    """The witness: `generate`, which reads no more than was trained."""
    words = ["generate", "amar sonar", "--ckpt", trained, "--top_k", "1"]
    assert main(words) == 0
    kept = load_checkpoint(trained)
    (tokenizer,) = kept.tokenizers
    ids = tokenizer.encode("amar sonar")[None]
    row = generate(kept.model, ids, 100, window=8)[0]
    assert capsys.readouterr().out == f"{tokenizer.decode(row)}\n"


def test_a_prompt_is_asked_for_and_unknown_letters_are_left_out(
    capsys, trained, monkeypatch
):
    monkeypatch.setattr("builtins.input", lambda _: "XaYmar")
    assert main(["generate", "--ckpt", trained]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("amar")
    left_out = "not in the vocabulary, and left out: ['X', 'Y']"
    assert said.err == f"tformer_lite: {left_out}\n"


# --- What is refused ------------------------------------------------------

REFUSED = {
    "generate XY": "no character of 'XY' is in the vocabulary",
    "generate amar --ckpt nowhere.pt": "no checkpoint nowhere.pt: train first",
    "generate amar --temperature 0": "temperature=0.0 must be above 0",
}


@pytest.mark.parametrize(("line", "answer"), REFUSED.items(), ids=REFUSED)
def test_what_cannot_be_done_is_answered_in_one_line(
    capsys, trained, line, answer
):
    command, *words = shlex.split(line)
    ckpt = ["--ckpt", trained] if command == "generate" else []
    assert answer in refusal(capsys, command, *ckpt, *words, main=main)
