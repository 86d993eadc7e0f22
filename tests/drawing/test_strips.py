"""Strips: what is drawn of a chain, on what scale, and how it is said."""

import math

import pytest
import torch

from tests.helpers.drawings import (
    ENGLISH,
    NEPALI,
    SCORES,
    letter_faults,
    texts,
    texts_on,
)
from tformer_lite import running_example, running_trace, strip, trace

RAW = SCORES[:, [2, 1, 0]].repeat(1, 2)[:, :4]
MASK = torch.tensor([[True, True, True, False]])
MASKED = RAW.masked_fill(~MASK, -math.inf)
WEIGHTS = MASKED.softmax(-1)


def chain(**options):
    links = RAW, MASK, MASKED, "softmax\nrows sum to 1", WEIGHTS
    titles = ["raw", "masked", "weights"]
    return strip(*links, titles=titles, **options)


def fills(picture, panel: int) -> list[tuple]:
    """The colours of a matrix's cells, in order."""
    pages = [figure.axes[0] for figure in picture.figures]
    meshes = [m for page in pages for m in page.collections]
    mesh = [m for m in meshes if m.get_array().size == 16][panel]
    return mesh.cmap(mesh.norm(mesh.get_array())).round(2).tolist()


@pytest.mark.slow
def test_a_strip_says_and_writes_its_matrices_its_operators_and_its_words():
    picture = chain(rows=NEPALI, columns=ENGLISH, row="थिएन")
    first, *tables = picture.text.split("\n\n")
    assert first == (
        "raw (T, S) = (4, 4), + mask, masked, softmax, weights. 4 of 16 "
        "cells are masked. Row 2 (थिएन) is framed. Largest of weights: 0.92 "
        "in row 2 (थिएन), column 2 (is)."
    )
    assert [table.split("\n")[0] for table in tables] == [
        "raw",
        "masked",
        "weights",
    ]
    drawn = texts(picture.svg())
    for word in ("raw", "masked", "softmax", "rows sum to 1", "+ mask"):
        assert drawn.count(word) == 1, word
    panels = len(picture.figures)
    assert drawn.count(NEPALI[1]) == panels  # named once in each
    assert drawn.count(ENGLISH[1]) == 3
    frames = [p for f in picture.figures for p in f.axes[0].patches]
    frames = [patch for patch in frames if patch.get_linewidth() == 2]
    assert len(frames) == 3
    figure = picture.figures[0]
    figure.draw_without_rendering()
    framed = next(x for x in texts_on(figure) if x.get_text() == NEPALI[2])
    assert framed.get_weight() == "bold"
    box, frame = framed.get_window_extent(), frames[0].get_window_extent()
    assert frame.y0 < (box.y0 + box.y1) / 2 < frame.y1


@pytest.mark.slow
def test_scores_share_a_scale_and_weights_have_theirs():
    whole, half = torch.full((4, 4), 2.0), torch.full((4, 4), 1.0)
    picture = strip(whole, "÷ 2", half)
    assert fills(picture, 0) != fills(picture, 1)
    assert fills(picture, 0) == fills(strip(half, "÷ 2", half / 2), 0)
    assert {"−2.00", "2.00"} <= set(texts(picture.svg()))
    assert {"0", "1"} <= set(texts(chain().svg()))


@pytest.mark.slow
def test_what_a_mask_hides_is_hidden_in_all_that_follows():
    panels = chain().panels
    assert [p.matrix.hidden.sum().item() for p in panels] == [0, 4, 4]
    only_last = strip(RAW, MASK, WEIGHTS).panels[1].matrix
    assert only_last.hidden[:, 3].all()


@pytest.mark.slow
def test_panels_are_as_narrow_as_a_phone_and_none_lies_over_another():
    many = torch.randn(20, 20)
    one = strip(
        many, "softmax", many.softmax(-1), "@", many[:, :12],
        axes=["T S", "T S", "S C"], rows=["internationally"] * 20, row=3,
    )  # fmt: skip
    single = strip(torch.ones(1, 1))
    for picture in (one, single, chain(rows=NEPALI, columns=ENGLISH)):
        assert letter_faults(picture) == []
        for i, panel in enumerate(picture.panels):
            left, _, wide, _ = panel.box
            page = 72 * picture.figures[panel.drawing].get_figwidth()
            assert 0 <= left < left + wide <= page <= 350
            for other in picture.panels[:i]:
                apart = other.box[0] + other.box[2] <= left
                assert apart or panel.drawing != other.drawing


@pytest.mark.slow
def test_the_attentions_of_a_trace_are_chains_of_their_own():
    seen, example = running_trace(), running_example()
    english, nepali = example.src_words[0], example.tgt_words[0]
    words = {"rows": [english, nepali, nepali], "row": "थिएन"}
    words["columns"] = [english, nepali, english]
    picture = strip(*seen.attention(), at=(0, 1), **words)
    tensors = [
        values
        for found in seen.attention()
        for values in (found.scores, found.masked, found.weights)
    ]
    for panel, values in zip(picture.panels, tensors, strict=True):
        assert panel.matrix.values.equal(values[0, 1])
    chains = [panel.chain for panel in picture.panels]
    assert chains == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    name = "decoder.blocks.0.cross_attention"
    assert f"{name}: scores (T, S) = (8, 8), + mask" in picture.text
    assert name in texts(picture.svg())
    assert picture.text.count("Row 3 (थिएन) is framed.") == 2
    assert letter_faults(picture) == []


@pytest.mark.slow
def test_an_attention_without_a_mask_or_with_a_large_number_for_one():
    q = torch.randn(1, 2, 3, 4, generator=torch.manual_seed(0))

    def attend(q, penalty):
        return (q @ q.mT + penalty).softmax(-1) @ q

    def parts(penalty):
        return strip(*trace(attend, q, penalty, keep=True).attention())

    hidden = parts(torch.tensor([0.0, 0.0, -1e9]))
    assert "+ mask" in hidden.text
    assert hidden.panels[1].matrix.hidden[:, 2].all()
    assert "+ bias" in parts(torch.tensor([0.0, 1.0, 2.0])).text
    plain = trace(lambda q: (q @ q.mT).softmax(-1) @ q, q, keep=True)
    assert "scores (T, S) = (3, 3), softmax" in strip(*plain.attention()).text


@pytest.mark.slow
def test_titles_are_what_was_written_without_an_index():
    scores, k = {"a": RAW[None]}, RAW
    text = strip(scores["a"][0], "@", k.mT, axes=["T S", "S T"]).text
    assert text.startswith("scores (T, S) = (4, 4), @, kᵀ (S, T) = (4, 4).")


@pytest.mark.parametrize(
    ("links", "options", "error"),
    [
        (["softmax"], {}, "needs a matrix"),
        ([], {}, "needs a matrix"),
        ([[RAW], RAW], {}, "one chain, or several"),
        ([torch.zeros(2, 3, 4, 4)], {"at": (0, 3)}, r"\(2, 3, 4, 4\): at=\(0"),
        ([RAW], {"row": "x"}, "row='x' is in no chain"),
        ([RAW, "÷ 2", RAW], {"titles": ["one"]}, "1 titles for 2"),
        ([RAW], {"axes": "T"}, "two letters"),
    ],
)
def test_what_is_no_chain_is_refused_with_its_reason(links, options, error):
    with pytest.raises(ValueError, match=error):
        strip(*links, **options)
