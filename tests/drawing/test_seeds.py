"""What dots for seeds say and show."""

import pytest
import torch

from tests.helpers.drawings import texts
from tformer_lite import seeds

FEW, MANY = torch.tensor([95.0, 98.4]), torch.tensor([96.0, 97.0, 97.0, 97.0])


def test_each_seed_is_a_dot_and_dots_of_one_value_are_piled():
    picture = seeds(FEW, MANY, axis="exact match, %")
    for figure in (picture.figure, picture.narrow):
        dots = [x for x in figure.axes[0].lines if x.get_marker() == "o"]
        places = [(*x.get_xdata(), *x.get_ydata()) for x in dots]
        assert len(set(places)) == len(places) == 6
        across = torch.tensor([x for x, _ in places])
        wanted = torch.cat((FEW, MANY))
        share = (wanted - 95) / 3.4
        found = (across - across.min()) / (across.max() - across.min())
        assert found.allclose(share.double(), atol=1e-4)
        *_, one, two, three = (y for _, y in places)
        assert one - two == two - three > 5


@pytest.mark.slow
def test_rows_are_named_and_means_are_written():
    picture = seeds(FEW, MANY, axis="exact match, %", titles=["wsd", "noam"])
    drawn = texts(picture.svg())
    assert {"wsd", "noam", "96.70", "96.75", "exact match, %"} <= set(drawn)
    first, numbers = picture.text.split("\n\n")
    assert first == (
        "exact match, %: wsd (2,): mean 96.70, from 95.00 to 98.40. "
        "noam (4,): mean 96.75, from 96.00 to 97.00."
    )
    assert numbers.splitlines()[1].split() == ["wsd", "95.00", "98.40"]
    assert repr(seeds(FEW, axis="loss")).startswith("loss: FEW (2,): mean")


def test_what_are_no_seeds_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match=r"\(2, 2\).*choose one"):
        seeds(torch.eye(2), axis="loss")
    with pytest.raises(ValueError, match="FEW is not finite"):
        seeds(FEW / 0, axis="loss", titles=["FEW"])
    with pytest.raises(ValueError, match="0 vectors"):
        seeds(axis="loss")
