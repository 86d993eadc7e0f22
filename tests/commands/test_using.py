"""The command line, and what uses a model: to write and trace."""

import re
import shlex
import subprocess
import sys

import pytest

from tests.helpers.commands import char, refusal
from tests.helpers.project import ROOT
from tformer_lite import (
    generate,
    load_checkpoint,
    running_trace,
)
from tformer_lite.__main__ import COMMANDS, OPTIONS, command_line, main
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
PAGES = "README.md", "chapters/17_character_model.md"


@pytest.mark.parametrize("command", SOURCE)
def test_the_options_and_defaults_are_those_of_source_002(command):
    options = vars(command_line().parse_args(command.split()))
    assert {n: options[n] for n in SOURCE[command]} == SOURCE[command]


def test_every_argument_of_source_002s_train_can_be_typed():
    assert COMMANDS["train char"][3].keys() >= {*FLAGS.split()}


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_can_be_typed(page):
    lines = SHOWN.findall((ROOT / page).read_text("utf8"))
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
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) < 80
    if command in COMMANDS:
        about = " ".join(done.stdout.split())
        assert f"{COMMANDS[command][0][1:]}." in about


def test_a_wrong_word_is_answered_with_the_usage(capsys):
    for words in ("", "train", "trace --preset bert --x"):
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


# --- trace ----------------------------------------------------------------


@pytest.mark.slow
def test_the_shapes_of_the_running_model_are_printed(capsys):
    """The witness: `running_trace`, which the chapters show."""
    assert main(["trace"]) == 0
    assert capsys.readouterr().out == f"{running_trace().tree()}\n"


@pytest.mark.full
@pytest.mark.parametrize("name", OPTIONS["preset"][1].split(", "))
def test_every_axis_of_every_module_has_its_name(name, capsys):
    """But for positions, whose table is longer than what is read of it."""
    assert main(["trace", "--preset", name]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    model = "DecoderOnly" if name == "char_lm" else "EncoderDecoder"
    assert first.split()[0] == model
    assert first.endswith("-> (B, T, V)")
    assert not [line for line in lines if "?" in line or "~" in line]


# --- What is refused ------------------------------------------------------

REFUSED = {
    "generate XY": "no character of 'XY' is in the vocabulary",
    "generate amar --ckpt nowhere.pt": "no checkpoint nowhere.pt: train first",
    "generate amar --temperature 0": "temperature=0.0 must be above 0",
    "generate amar --top_k -1": "top_k=-1 must be 1 or more, or 0 for all",
    "trace --preset bert": "bert is none of tiny_translator, building_blocks",
}


@pytest.mark.parametrize(("line", "answer"), REFUSED.items(), ids=REFUSED)
def test_what_cannot_be_done_is_answered_in_one_line(
    capsys, trained, line, answer
):
    command, *words = shlex.split(line)
    ckpt = ["--ckpt", trained] if command == "generate" else []
    assert answer in refusal(capsys, command, *ckpt, *words, main=main)
