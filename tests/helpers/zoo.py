"""Models of every kind, each made by a function of its sizes."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import torch
from torch import nn

from tests.helpers import source_000, source_003
from tests.helpers.own_models import GPT
from tests.helpers.small import NAMES, kind_of, preset

SENTENCES = {"B": 2, "S": 8, "T": 6, "H": 3, "D": 4, "C": "H*D"}
PICTURES = {"B": 2, "K": 3, "X": 8, "Y": 12}


def ids(vocabulary, *shape):
    return torch.randint(2, vocabulary, shape)


def of_preset(name):
    """A factory of one of the five presets, with few layers and words."""

    def factory(B, S, T, H, D):
        sizes = {"d_model": H * D, "n_heads": H, "d_ff": 4 * H * D}
        config = preset(name, vocab_size=31, max_len=64, n_layers=2)
        if config.src_vocab_size:
            config = replace(config, src_vocab_size=29)
        model = kind_of(name)(replace(config, **sizes))
        if name == "char_lm":
            return model, (ids(31, B, T),)
        return model, (ids(29, B, S), ids(31, B, T))

    return factory


def translator_000(B, S, T, H, D):
    model = source_000.Translator((29, 31), (S, T), (H * D, H, D))
    masks = torch.ones(B, 1, 1, S), torch.ones(B, 1, T, T).tril()
    return model, (ids(29, B, S), ids(31, B, T), *masks)


def translator_003(B, S, H, D):
    sizes = source_003.Sizes(S, 29, 31, B, H * D, H, 4 * H * D, 2)
    return source_003.Translator(sizes), (ids(29, B, S), ids(31, B, S))


def torch_transformer(B, S, T, H, D):
    # Said outright, nested tensors give no warning about odd heads.
    model = nn.Transformer(H * D, H, 2, 1, 4 * H * D, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(T)

    def run(src, tgt):
        return model(src, tgt, tgt_mask=mask)

    return run, (torch.randn(B, S, H * D), torch.randn(B, T, H * D))


def torch_attention(B, T, H, D):
    x = torch.randn(B, T, H * D)
    return nn.MultiheadAttention(H * D, H, batch_first=True), (x, x, x)


def torch_cross_attention(B, S, T, H, D):
    x, source = torch.randn(T, B, H * D), torch.randn(S, B, H * D)
    return nn.MultiheadAttention(H * D, H), (x, source, source)


def gpt(B, T, H, D):
    return GPT(H, H * D, 2 * T), (ids(37, B, T), ids(37, B, T))


def torch_lstm(B, T, D, E):
    model = nn.LSTM(D, E, num_layers=2, bidirectional=True, batch_first=True)
    return model, (torch.randn(B, T, D),)


def padded_cnn(B, K, X, Y):
    model = nn.Sequential(
        nn.Conv2d(K, 2 * K, 3, padding=1),
        nn.BatchNorm2d(2 * K),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(K * X * Y // 2, 10),
    )
    return model, (torch.randn(B, K, X, Y),)


def bert(kind):
    """A factory of Hugging Face's BERT, with one way to attend."""
    from transformers import BertConfig, BertModel

    def factory(B, T, H, D):
        config = BertConfig(
            vocab_size=37,
            hidden_size=H * D,
            num_hidden_layers=2,
            num_attention_heads=H,
            intermediate_size=4 * H * D,
            max_position_embeddings=64,
            attn_implementation=kind,
        )
        return BertModel(config), (ids(37, B, T),)

    return factory


def of(names, letters):
    return {name: names[name] for name in letters.split()}


STEPS = {"B": 2, "T": 6, "D": 4, "E": 5}
BOTH = of(SENTENCES, "B S T H D C")
ZOO = {
    **{name: (of_preset(name), BOTH) for name in NAMES},
    "source 000": (translator_000, BOTH),
    "source 003": (translator_003, of(SENTENCES, "B S H D C")),
    "nn.Transformer": (torch_transformer, BOTH),
    "nn.MultiheadAttention": (torch_attention, of(SENTENCES, "B T H D C")),
    "nn.MultiheadAttention, cross": (torch_cross_attention, BOTH),
    "GPT": (gpt, of(SENTENCES, "B T H D C")),
    "nn.LSTM": (torch_lstm, STEPS),
    "CNN": (padded_cnn, PICTURES),
    "BERT, eager": (bert("eager"), of(SENTENCES, "B T H D C")),
    "BERT, sdpa": (bert("sdpa"), of(SENTENCES, "B T H D C")),
}


# A loop over time, and pictures that must not be small.
def value(name, sizes):
    """What a printed name says of other sizes: 3(S+T)/2 is a product, and
    ⌈T/2⌉ is rounded up."""
    product = re.sub(
        r"(?<![A-Za-z_])(\d+|[)⌉⌋])(?=[A-Za-z_(⌈⌊])", r"\1*", name
    )
    for bracket, call in zip("⌈⌊⌉⌋", ("ceil(", "floor(", ")", ")")):
        product = product.replace(bracket, call)
    known = {"__builtins__": {}, "ceil": math.ceil, "floor": math.floor}
    exact = {letter: Fraction(n) for letter, n in sizes.items()}
    return eval(product, known, exact)
