"""No letters of a picture overlap, leave it, or are too small."""

import pytest
import torch

from tests.helpers.drawings import letter_faults
from tformer_lite import bars, curves, heatmap, seeds

LONG = "torch.softmax(q @ k.mT / 2, dim=-1)[0, 1]"
WORDS = ["a", "मुख", "[PAD]", "Mathematicians" * 3, "a label of many words"]


@pytest.mark.full
@pytest.mark.parametrize(("count", "size"), [(1, 20), (4, 1), (4, 5)])
def test_letters_of_bars(count, size):
    labels = (WORDS * 6)[:size]
    rows = [torch.randn(size) * 10 ** (i % 4) for i in range(count)]
    titles = [f"{LONG}\n{LONG}" if i == 1 else "x" for i in range(count)]
    for glosses in (None, labels[::-1], ["an egg"] * size):
        look = {"labels": labels, "glosses": glosses, "titles": titles}
        assert letter_faults(bars(*rows, **look)) == []
        whole = [row.long() * 10**7 for row in rows]
        assert letter_faults(bars(*whole, **look)) == []


@pytest.mark.full
@pytest.mark.parametrize(
    "shape", [(1, 1), (8, 8), (20, 3), (12, 24), (64, 64), (8, 200)]
)
def test_letters_of_heatmaps(shape):
    looks = [(1, None), (2, WORDS), (3, ["is"]), (2, ["[SOS]", "mouth"])]
    for count, words in looks:
        matrices = [torch.randn(shape) * 100**i for i in range(count)]
        rows, columns = (words and (words * size)[:size] for size in shape)
        picture = heatmap(
            *matrices,
            axes="T S" if count == 2 else "beam word",
            titles=["x", LONG, "y"][:count],
            rows=rows,
            columns=columns,
        )
        assert letter_faults(picture) == []


@pytest.mark.full
@pytest.mark.parametrize(("panels", "size"), [(1, 300), (2, 1), (3, 8)])
def test_letters_of_curves(panels, size):
    for titles in (["a", "b"], [LONG, WORDS[3]], [WORDS[4]] * 2):
        for scale in (1, 1e-5, 1e7):
            rows = [scale * torch.rand(2, size) + scale / 9] * panels
            picture = curves(
                *map(list, rows),
                titles=titles * panels,
                heads=[f"{LONG}\n{LONG}", "", "head"][:panels],
                log=[i == 1 for i in range(panels)],
                axis="S" if panels == 1 else "a long word for it",
                places=range(10**6, 10**6 + size),
            )
            assert letter_faults(picture) == []


@pytest.mark.slow
def test_letters_of_seeds():
    for titles in (["a"], [LONG, WORDS[3]], ["a", "b", WORDS[4], LONG]):
        for scale in (0, 1e-3, 1e6):
            rows = [scale * torch.rand(9) for _ in titles]
            picture = seeds(*rows, axis="exact match, %", titles=titles)
            assert letter_faults(picture) == []
