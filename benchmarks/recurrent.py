"""What attention replaced: a recurrent network with as many parameters."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from benchmarks.left_out import translators
from benchmarks.reasons import READER, READING, Lookups, share_answered
from benchmarks.translators import RECIPE, Build, by_seed, learner
from tformer_lite import Config, DecoderOnly, EncoderDecoder, tiny_translator
from tformer_lite.model.layers import Linear
from tformer_lite.model.models import Head

RATES = 3e-2, 6e-2
# For lists. Of 5e-3, 1e-2 and 2e-2 the second suits a recurrent network best.
READER_RATES = {"recurrent": 1e-2, "Transformer": 5e-3}
LISTS = 4, 8, 16


class Recurrent(nn.Module):
    """Read a source word by word into one vector of 20 channels, and write
    from it: Cho et al. (2014), with no attention.

    It is as large as the translator: three tables of words and, for
    attention and feed-forward, two cells.
    """

    states = 20

    def __init__(self, config: Config):
        super().__init__()
        self.pad = config.pad
        sizes = config.vocab_size, config.d_model
        self.src_embedding = nn.Embedding(*sizes)
        self.tgt_embedding = nn.Embedding(*sizes)
        cells = config.d_model, self.states
        self.encoder = nn.GRU(*cells, batch_first=True)
        self.decoder = nn.GRU(*cells, batch_first=True)
        self.narrow = Linear(self.states, config.d_model, bias=False)
        self.head = Head(config.d_model, config.vocab_size, bias=False)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Score the token after each of tgt: (B, S), (B, T) -> (B, T, V)."""
        read, _ = self.encoder(self.src_embedding(src))
        last = (src != self.pad).sum(1) - 1
        memory = read[torch.arange(len(src)), last]
        x, _ = self.decoder(self.tgt_embedding(tgt), memory[None])
        return self.head(self.narrow(x))


class RecurrentReader(nn.Module):
    """Read a list word by word: two blocks' parameters in one cell."""

    states = 60

    def __init__(self, config: Config):
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.cell = nn.GRU(config.d_model, self.states, batch_first=True)
        self.head = Head(self.states, config.vocab_size, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Score the token after each of ids: (B, T) -> (B, T, V)."""
        return self.head(self.cell(self.embedding(ids))[0])


Networks = dict[str, Callable[[Config], nn.Module]]
TRANSLATORS: Networks = {"recurrent": Recurrent, "Transformer": EncoderDecoder}
READERS: Networks = {"recurrent": RecurrentReader, "Transformer": DecoderOnly}


def parameters(kinds: Networks, config: Config) -> dict[str, int]:
    """Count the parameters of each kind of network."""
    built = {name: kind(config) for name, kind in kinds.items()}
    return {
        name: sum(weight.numel() for weight in model.parameters())
        for name, model in built.items()
    }


def looking_up(listed: int) -> dict:
    """Look up in lists of all words but one, with either network."""
    words, shares = listed + 1, {}
    config = replace(READER, n_layers=2, vocab_size=words, max_len=words)
    count = READING.steps * READING.batch_size  # each list is seen once
    lists, others = (
        Lookups(n, seed, listed, words) for seed, n in enumerate((count, 1000))
    )
    for name, kind in READERS.items():
        print(f"  {name}: {listed} words", flush=True)
        build, rate = partial(kind, config), READER_RATES[name]
        models = by_seed(partial(reader_of, build, rate, lists))
        shares[name] = {
            seed: share_answered(model, others)
            for seed, model in models.items()
        }
    return {"shares": shares, "parameters": parameters(READERS, config)}


def reader_of(
    build: Build, rate: float, lists: Lookups, seed: int
) -> nn.Module:
    """Train what looks up in lists, from a seed."""
    return learner(build, replace(READING, lr=rate, seed=seed), lists).model


def translating(name: str, rate: float) -> dict:
    """Train a translator of this name, as the running model but for its
    learning rate."""
    print(f"  {name}: a learning rate of {rate:g}", flush=True)
    build = partial(TRANSLATORS[name], tiny_translator)
    return translators(build, replace(RECIPE, lr=rate))


def recurrent() -> dict:
    """Train recurrent networks and Transformers, from five seeds each."""
    return {
        "rates": {
            f"{rate:g}": translating("recurrent", rate) for rate in RATES
        },
        "Transformer": translating("Transformer", RECIPE.lr),
        "parameters": parameters(TRANSLATORS, tiny_translator),
        "look-up": {str(listed): looking_up(listed) for listed in LISTS},
    }
