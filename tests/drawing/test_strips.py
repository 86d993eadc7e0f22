"""Strips: what is drawn of a chain, on what scale, and how it is said."""

import math

import pytest
import torch

from tests.helpers.drawings import ENGLISH, NEPALI, SCORES, texts
from tformer_lite import running_example, running_trace, strip, trace
from tformer_lite.drawing.surface.page import NARROW, WIDE

RAW = SCORES[:, [2, 1, 0]].repeat(1, 2)[:, :4]
MASK = torch.tensor([[True, True, True, False]])
MASKED = RAW.masked_fill(~MASK, -math.inf)
WEIGHTS = MASKED.softmax(-1)


def chain(**options):
    links = RAW, MASK, MASKED, "softmax\nrows sum to 1", WEIGHTS
    titles = ["raw", "masked", "weights"]
    return strip(*links, titles=titles, **options)


def fills(picture, panel: int) -> list[tuple]:
    """The colours of a panel's cells, in order."""
    meshes = picture.figure.axes[0].collections
    mesh = [m for m in meshes if m.get_array().size == 16][panel]
    return mesh.cmap(mesh.norm(mesh.get_array())).round(2).tolist()


@pytest.mark.slow
def test_a_chain_says_its_matrices_its_operators_and_its_framed_row():
    picture = chain(rows=NEPALI, columns=ENGLISH, row="थिएन")
    assert picture.text.split("\n\n")[0] == (
        "raw (T, S) = (4, 4), + mask, masked, softmax, weights. "
        "4 of 16 cells are masked. Row 2 (थिएन) is framed. "
        "Largest of weights: 0.92 in row 2 (थिएन), column 2 (is)."
    )
    drawn = texts(picture.svg())
    for word in ("raw", "masked", "softmax", "rows sum to 1", "+ mask"):
        assert drawn.count(word) == 2, word  # wide, and on a phone
    assert drawn.count(NEPALI[1]) == 2
    assert drawn.count(ENGLISH[1]) == 6


@pytest.mark.slow
def test_scores_share_a_scale_and_weights_have_theirs():
    whole, half = torch.full((4, 4), 2.0), torch.full((4, 4), 1.0)
    picture = strip(whole, "÷ 2", half)
    assert fills(picture, 0) != fills(picture, 1)
    other = strip(half, "÷ 2", half / 2)
    assert fills(picture, 0) == fills(other, 0)
    assert {"−2.00", "2.00"} <= set(texts(picture.svg()))
    assert {"0", "1"} <= set(texts(chain().svg()))


@pytest.mark.slow
def test_what_a_mask_hides_is_hidden_in_all_that_follows():
    panels = chain().panels
    assert [p.matrix.hidden.sum().item() for p in panels] == [0, 4, 4]
    only_last = strip(RAW, MASK, WEIGHTS).panels[1].matrix
    assert only_last.hidden[:, 3].all()


@pytest.mark.slow
def test_every_matrix_is_within_the_page_and_none_lies_over_another():
    long = ["internationally"] * 20
    many = torch.randn(20, 20)
    one = strip(
        many, "softmax", many.softmax(-1), "@", many[:, :12],
        axes=["T S", "T S", "S C"], rows=long, row=3,
    )  # fmt: skip
    single = strip(torch.ones(1, 1))
    for picture in (one, single, chain(rows=NEPALI, columns=ENGLISH)):
        for side, width in (("wide", WIDE), ("narrow", NARROW)):
            boxes = [getattr(panel, side) for panel in picture.panels]
            for left, _, wide, _ in boxes:
                assert left >= 0
                assert left + wide <= width
            for i, (x, y, w, h) in enumerate(boxes):
                for a, b, c, d in boxes[:i]:
                    apart = (
                        a + c <= x or x + w <= a or b + d <= y or y + h <= b
                    )
                    assert apart


@pytest.mark.slow
def test_the_attentions_of_a_trace_are_chains_of_their_own():
    seen, example = running_trace(), running_example()
    english, nepali = example.src_words[0], example.tgt_words[0]
    words = {"rows": [english, nepali, nepali], "row": "थिएन"}
    words["columns"] = [english, nepali, english]
    picture = strip(*seen.attention(), at=(0, 1), **words)
    for found, panels in zip(
        seen.attention(), zip(*[iter(picture.panels)] * 3)
    ):
        for panel, values in zip(panels, found[2:]):
            assert panel.matrix.values.equal(values[0, 1])
    assert [panel.chain for panel in picture.panels] == [0] * 3 + [1] * 3 + [
        2
    ] * 3
    assert (
        "decoder.blocks.0.cross_attention: scores (T, S) = (8, 8), + mask"
        in (picture.text)
    )
    assert picture.text.count("Row 3 (थिएन) is framed.") == 2


@pytest.mark.slow
def test_an_attention_without_a_mask_or_with_a_large_number_for_one():
    q = torch.randn(1, 2, 3, 4, generator=torch.manual_seed(0))

    def attend(q, penalty):
        return (q @ q.mT + penalty).softmax(-1) @ q

    def parts(penalty):
        found = trace(attend, q, penalty, keep=True).attention()
        return strip(*found)

    hidden = torch.tensor([0.0, 0.0, -1e9])
    assert "+ mask" in parts(hidden).text
    assert parts(hidden).panels[1].matrix.hidden[:, 2].all()
    assert "+ bias" in parts(torch.tensor([0.0, 1.0, 2.0])).text
    plain = trace(lambda q: (q @ q.mT).softmax(-1) @ q, q, keep=True)
    assert "scores (T, S) = (3, 3), softmax" in strip(*plain.attention()).text


@pytest.mark.full
def test_titles_are_what_was_written_without_an_index():
    scores, k = {"a": RAW[None]}, RAW
    text = strip(scores["a"][0], "@", k.mT, axes=["T S", "S T"]).text
    assert text.startswith("scores (T, S) = (4, 4), @, kᵀ (S, T) = (4, 4).")


def test_what_is_no_chain_is_refused_with_its_reason():
    with pytest.raises(ValueError, match="needs a matrix"):
        strip("softmax")
    with pytest.raises(ValueError, match="needs a matrix"):
        strip()
    with pytest.raises(ValueError, match="one chain, or several"):
        strip([RAW], RAW)
    with pytest.raises(ValueError, match=r"\(2, 3, 4, 4\): at=\(0, 3\)"):
        strip(torch.zeros(2, 3, 4, 4), at=(0, 3))
    with pytest.raises(ValueError, match="row='x' is in no chain"):
        strip(RAW, row="x")
    with pytest.raises(ValueError, match="1 titles for 2"):
        strip(RAW, "÷ 2", RAW, titles=["one"])
    with pytest.raises(ValueError, match="two letters"):
        strip(RAW, axes="T")
