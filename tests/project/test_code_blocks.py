"""The code in the README, the guide and the pages runs as it stands."""

import os
import re
import shlex
import sys
from dataclasses import dataclass
from importlib import import_module
from itertools import dropwhile

import pytest
import torch
from prints import prints_of
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from tests.helpers.project import ROOT, run
from tformer_lite.example.shipped import book_text

pytestmark = pytest.mark.full

BLOCK = re.compile(r"^ *```(sh|python)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
PAGES = ["shapewatch/README.md", "classroom/README.md"]
PAGES += [f"book/{page.name}" for page in (ROOT / "book").glob("*.md")]
PAPERS = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", *PAGES]


def blocks(language: str, *papers: str) -> list[str]:
    """The code of a language in some papers."""
    texts = [(ROOT / paper).read_text("utf8") for paper in papers]
    found = [block for text in texts for block in BLOCK.findall(text)]
    return [code for kind, code in found if kind == language]


def commands(*papers: str) -> list[list[str]]:
    """What is typed into a shell, in words; a line that ends in a backslash
    goes on."""
    text = "\n".join(blocks("sh", *papers)).replace("\\\n", " ")
    return list(filter(None, (shlex.split(x, True) for x in text.split("\n"))))


def test_the_readmes_python_is_that_of_the_tracers_own():
    """Which is run, and shows what comes of it."""
    [code] = blocks("python", "README.md")
    assert code in blocks("python", "shapewatch/README.md")


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs_and_prints_what_it_shows(
    page, monkeypatch, tmp_path
):
    """NANOGPT=folder takes the real file of nanoGPT's, which the page shows;
    without it there is one that does the same. What only another tool prints
    is compared where that is there."""
    monkeypatch.chdir(tmp_path)
    if "NANOGPT" in os.environ:
        monkeypatch.syspath_prepend(os.environ["NANOGPT"])
    else:
        monkeypatch.setitem(sys.modules, "model", sys.modules[__name__])
    for block, said in prints_of((ROOT / page).read_text("utf8")):
        assert said in (block[2], None) or not block[2], block[1]


COMMANDS = {
    "shapewatch/README.md": ("shapewatch", "my_model.py:make trace check"),
    "classroom/README.md": ("classroom", "assign grade"),
}
OWN_MODEL = """\
from torch import ones
from tformer_lite import DecoderOnly, char_lm

def make():
    return DecoderOnly(char_lm), ones(2, 8).long()
"""


@pytest.mark.parametrize("paper", COMMANDS)
def test_the_commands_of_a_package_do_what_its_readme_says(
    paper, capsys, tmp_path, monkeypatch
):
    """In the README's order; a training is cut to its first steps."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book.txt").write_text(book_text()[:5000], "utf8")
    (tmp_path / "my_model.py").write_text(OWN_MODEL)
    small = '{"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 1}'
    (tmp_path / "config.json").write_text(small)
    (tmp_path / "submissions").mkdir()
    (tmp_path / "submissions" / "student.py").write_text("x = 1")
    package, names = COMMANDS[paper]
    ours = ["python", "-m", package]
    typed = [words[3:] for words in commands(paper) if words[:3] == ours]
    assert [words[0] for words in typed] == names.split()
    for words in typed:
        few = ["--steps", "2"] if words[0] == "train" else []
        main = import_module(f"{package}.__main__").main
        assert main([*words, *few]) == 0, words


def lacking(words: list[str]) -> list[str]:
    """What a command names and is not there: a target, a file, a repository;
    the whole command, if it is none that we know."""
    match [*dropwhile(lambda word: "=" in word, words)]:
        case ["make", *rest]:
            done = run(ROOT, "make", "-n", *rest)
            return [done.stderr] if done.returncode else []
        case ["pip", "install", address]:
            project = (ROOT / "pyproject.toml").read_text("utf8")
            home = address.removeprefix("git+").partition("#")[0]
            return [] if home in project else [address]
        case ["python", "-m", "tformer_lite" | "shapewatch" | "classroom", *_]:
            return []  # these have a test of their own
        case [".venv/bin/python", "-m", "pytest", *rest]:
            return [x for x in rest if "/" in x and not (ROOT / x).exists()]
        case [".venv/bin/pip", "install", "jupyterlab"]:
            return []  # a program that the book does not bring
        case [".venv/bin/jupyter", "lab"] | ["python", "-m", "pip", *_]:
            return []
        case (
            [".venv/bin/python", file]
            | ["python", file, _]
            | (["python", "-m", "zipfile", "-e", file, _])
        ):
            return [] if (ROOT / file).exists() else [file]
    return [shlex.join(words)]


def test_every_other_command_names_what_is_there():
    typed = commands(*PAPERS)
    assert len(typed) > 10
    assert [fault for words in typed for fault in lacking(words)] == []


# --- a stand-in for nanoGPT's model.py, written afresh: its modules have the
# same names and are set up in the same order, so that a seed gives the same
# weights. What a page prints of the one, it prints of the other.


@dataclass
class GPTConfig:
    block_size: int = 1024
    vocab_size: int = 50304
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    dropout: float = 0.0
    bias: bool = True


class CausalSelfAttention(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        c = config.n_embd
        self.c_attn = nn.Linear(c, 3 * c, bias=config.bias)
        self.c_proj = nn.Linear(c, c, bias=config.bias)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.heads = config.n_head

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        rows = self.c_attn(x).split(c, dim=2)
        q, k, v = (
            y.view(b, t, self.heads, c // self.heads).transpose(1, 2)
            for y in rows
        )
        mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
        joined = mixed.transpose(1, 2).contiguous().view(b, t, c)
        return self.resid_dropout(self.c_proj(joined))


class MLP(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        c = config.n_embd
        self.c_fc = nn.Linear(c, 4 * c, bias=config.bias)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * c, c, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, bias=config.bias)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd, bias=config.bias)
        self.mlp = MLP(config)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        c = config.n_embd
        self.transformer = nn.ModuleDict()
        self.transformer["wte"] = nn.Embedding(config.vocab_size, c)
        self.transformer["wpe"] = nn.Embedding(config.block_size, c)
        self.transformer["drop"] = nn.Dropout(config.dropout)
        layers = (Block(config) for _ in range(config.n_layer))
        self.transformer["h"] = nn.ModuleList(layers)
        self.transformer["ln_f"] = nn.LayerNorm(c, bias=config.bias)
        self.lm_head = nn.Linear(c, config.vocab_size, bias=False)
        self.transformer["wte"].weight = self.lm_head.weight
        self.apply(start)
        for name, weight in self.named_parameters():
            if name.endswith("c_proj.weight"):
                deep = 0.02 / (2 * config.n_layer) ** 0.5
                nn.init.normal_(weight, mean=0.0, std=deep)
        count = sum(p.numel() for p in self.parameters())
        count -= self.transformer["wpe"].weight.numel()
        print(f"number of parameters: {count / 1e6:.2f}M")

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple:
        parts = self.transformer
        places = torch.arange(idx.shape[1])
        x = parts["drop"](parts["wte"](idx) + parts["wpe"](places))
        for block in parts["h"]:
            x = block(x)
        x = parts["ln_f"](x)
        if targets is None:
            return self.lm_head(x[:, [-1], :]), None
        logits = self.lm_head(x)
        return logits, cross_entropy(logits.flatten(0, 1), targets.view(-1))


def start(module: nn.Module) -> None:
    """Draw first weights."""
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, mean=0.0, std=0.02)
    if getattr(module, "bias", None) is not None and module.bias.ndim == 1:
        nn.init.zeros_(module.bias)
