"""What a KV cache saves: writing with one, against reading all again.

python -m benchmarks.caching                  # about five minutes

A model of 4 layers, 128 channels and 4 heads writes so many tokens after a
single one, on one thread: the two take turns, and each round gives a ratio.
Printed are the median of the rounds and, in brackets, the quartiles. Both
write the same text.
"""

from functools import partial

import torch
from torch import Tensor

from benchmarks.alone import alone
from benchmarks.rounds import in_turns, spread
from tformer_lite import Config, DecoderOnly, generate

SIZES = Config(
    vocab_size=65,
    max_len=520,
    d_model=128,
    n_heads=4,
    n_layers=4,
    d_ff=512,
    positions="learned",
)
LENGTHS = 64, 128, 256, 512


def recomputed(model: DecoderOnly, ids: Tensor, n: int) -> Tensor:
    """Write n tokens, reading all again for each."""
    for _ in range(n):
        best = model(ids)[:, -1].argmax(-1)
        ids = torch.cat((ids, best[:, None]), dim=1)
    return ids


def saved(n: int) -> list[str]:
    """Write milliseconds a token, with a cache and without, and their
    ratio."""
    torch.manual_seed(0)
    model = DecoderOnly(SIZES).eval()
    ids = torch.zeros(1, 1, dtype=torch.long)
    runs = [partial(f, model, ids, n) for f in (generate, recomputed)]
    texts = [run() for run in runs]
    assert texts[0].equal(texts[1])
    rounds = in_turns(*runs, budget=60)
    columns = [[1000 * s / n for s in seconds] for seconds in zip(*rounds)]
    ratios = [slow / fast for fast, slow in rounds]
    return [spread(column) for column in (*columns, ratios)]


def main() -> None:
    """Print a row for each number of new tokens."""
    print(f"torch {torch.__version__}, one thread\n")
    titles = "ms/token, cache", "ms/token, without", "times faster"
    print("new tokens", *(f"{title:22}" for title in titles))
    for n in LENGTHS:
        cells = alone("benchmarks.caching:saved", n)
        print(f"{n:10}", *(f"{cell:22}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
