"""A language model that learns from any text, for you to read and change.

    python my_gpt.py train my_text.txt         learns from a text
    python my_gpt.py "Once upon a time"        goes on with what you type

Explained in https://your_account.github.io/transformer-shape-by-shape
"""

import sys
import torch
from torch import nn
from torch.nn.functional import cross_entropy

def sample(logits, temperature=1.0, top_k=None):  # chapter 14
    if top_k:
        least = logits.topk(top_k).values[..., -1:]
        logits = logits.masked_fill(logits < least, -torch.inf)
    return torch.softmax(logits / temperature, dim=-1).multinomial(1)

if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except FileNotFoundError as error:
        sys.exit(f"There is no {error.filename} here.\n\n{__doc__}")
