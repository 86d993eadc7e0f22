"""What a KV cache saves: writing with one, against reading all again.

python -m benchmarks.caching                  # about eight minutes

A model of 4 layers, 128 channels and 4 heads writes so many tokens after a
single one, on one thread: the ways take turns, and each round gives a ratio.
Printed are the median of the rounds and, in brackets, the quartiles. All
write the same text.

With a cache, attention is one call of PyTorch's; the model's own is written
out. What such a call saves is not the cache's merit, so a third way reads all
again with it, too.
"""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from benchmarks.alone import alone
from benchmarks.rounds import in_turns, spread
from benchmarks.training import OneCall, table
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
TITLES = "ms, without", "ms, one call", "times faster", "than one call"


def write_without(model: DecoderOnly, ids: Tensor, n: int) -> Tensor:
    """Write n tokens, reading all again for each."""
    for _ in range(n):
        best = model(ids)[:, -1].argmax(-1)
        ids = torch.cat((ids, best[:, None]), dim=1)
    return ids


def cache_cells(n: int) -> list[str]:
    """Write milliseconds a token, with a cache and without, and how many
    times faster the cache is than each way without."""
    torch.manual_seed(0)
    model = DecoderOnly(SIZES).eval()
    one_call = DecoderOnly(replace(SIZES, attention=OneCall)).eval()
    one_call.load_state_dict(model.state_dict())
    ids = torch.zeros(1, 1, dtype=torch.long)
    ways = (generate, model), (write_without, model), (write_without, one_call)
    runs = [partial(way, model, ids, n) for way, model in ways]
    texts = [run() for run in runs]
    assert all(text.equal(texts[0]) for text in texts)
    rounds = in_turns(*runs, budget=60)
    columns = [[1000 * s / n for s in seconds] for seconds in zip(*rounds)]
    for way in (1, 2):
        columns.append([seconds[way] / seconds[0] for seconds in rounds])
    return [spread(column) for column in columns]


def main() -> None:
    """Print a row for each number of new tokens."""
    print(f"torch {torch.__version__}, one thread\n")
    row = table("new tokens", "ms, cache", *TITLES)
    for n in LENGTHS:
        row(str(n), *alone("benchmarks.caching:cache_cells", n))


if __name__ == "__main__":
    main()
