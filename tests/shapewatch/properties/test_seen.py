"""What a check has seen is what is so, by numbers that it did not make."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from shapewatch.properties import (
    norm_statistics,
    past,
    provenance,
    score_scale,
)
from tformer_lite import (
    bug,
    report,
    running_example,
    running_model,
)

ROWS = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))
PAIR = running_example()[:2]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_vectors_are_pushed_on_the_path_that_pytorch_takes_without_a_push():
    """Its fast path gives 0 at padding; under a mode it is not taken."""
    hidden = torch.stack([torch.arange(6) > 3, torch.zeros(6) > 0])
    layer = nn.TransformerEncoderLayer(12, 2, 24, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 1)

    class Padded(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = encoder

        def forward(self, x):
            return self.encoder(x, src_key_padding_mask=hidden[: len(x)])

    seen = past(Padded(), ROWS).seen > 0
    assert seen[:4, :4].all()
    assert not seen[4:].any()


@pytest.mark.parametrize("factor", [0.5, 2.0, 3.0])
@pytest.mark.parametrize("where", ["q", "k", "scores"])
def test_a_wrong_scale_is_measured_wherever_it_is_put(where, factor):
    q, k, v = (nn.Linear(12, 12) for _ in range(3))
    by = {name: factor if name == where else 1.0 for name in "qk"}

    def attend(x):
        scores = q(x) * by["q"] @ (k(x) / by["k"] ** -1).mT / 12**0.5
        if where == "scores":
            scores = scores * factor
        return scores.softmax(-1) @ v(x)

    finding = score_scale(attend, ROWS)
    assert finding.holds is False
    assert f"variance {factor**2:.2f}" in finding.says
    assert_close(finding.seen, torch.tensor([[factor**2]]))


@pytest.mark.parametrize("scale", [None, 12**-0.5, 1.0])
def test_the_scale_of_an_attention_in_one_call_is_known(scale):
    q, k, v = (nn.Linear(12, 12) for _ in range(3))

    def attend(x):
        parts = (layer(x) for layer in (q, k, v))
        return nn.functional.scaled_dot_product_attention(*parts, scale=scale)

    assert score_scale(attend, ROWS).holds is (scale != 1.0)


@pytest.mark.slow
def test_provenance_sees_the_position_that_each_element_came_from():
    places = torch.arange(8)[:, None]
    right = provenance(running_model(), *PAIR)
    assert_close(right.seen, places.expand(8, 12))
    viewed = places.expand(3, 8, 4).reshape(8, 12)
    broken = provenance(bug("heads_joined_by_view").model(), *PAIR)
    assert_close(broken.seen, viewed)
    broken = provenance(bug("heads_split_by_view").model(), *PAIR)
    viewed = places.expand(8, 12).reshape(3, 8, 4)
    assert_close(broken.seen, viewed[0])


def test_gains_and_offsets_are_not_held_against_a_norm():
    norm = nn.Sequential(nn.LayerNorm(12))
    assert norm_statistics(norm, ROWS).holds
    nn.init.constant_(norm[0].weight, 5.0)
    nn.init.constant_(norm[0].bias, 2.0)
    finding = norm_statistics(norm, 3 * ROWS + 1)
    assert finding.holds
    assert_close(finding.seen, torch.ones(2, 6), rtol=1e-3, atol=0)


@pytest.mark.slow
def test_the_report_has_each_finding_by_name():
    found = report(running_model(), *PAIR)
    assert len(found.findings) == 23
    assert found["causality"].name == "causality"
    assert found.broken == []
    for finding in found.findings:
        seen = finding.seen is not None and finding.seen.ndim == 2
        assert seen is bool(finding.holds), finding.name
    with pytest.raises(KeyError, match="there are finite, repeatable"):
        found["speed"]
