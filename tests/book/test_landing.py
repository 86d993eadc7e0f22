"""The pictures of the first page are what the code gives today."""

import re

import landing
import pytest
import torch

NUMBER = r"-?\d+\.?\d*"
STALE = "the picture is old: run `make picture`"


@pytest.mark.slow
@pytest.mark.parametrize("file", landing.PICTURES, ids=lambda file: file.stem)
def test_the_first_page_shows_what_is_drawn_today(file):
    stored, now = file.read_text("utf8"), landing.drawn(file)
    words = [re.split(NUMBER, each) for each in (stored, now)]
    assert words[0] == words[1], STALE
    places = [list(map(float, re.findall(NUMBER, x))) for x in (stored, now)]
    assert places[0] == pytest.approx(places[1], abs=0.11), STALE


def test_the_first_page_cuts_as_its_picture_does():
    page = (landing.STATIC.parent / "intro.md").read_text("utf8")
    names = {"torch": torch}
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], names)
    a, b = names["a"], names["b"]
    assert a.shape == b.shape == (3, 2, 4)
    words = torch.arange(2)[:, None].expand(2, 4)
    assert all((head // 12).equal(words) for head in b)
    assert landing.thirty_seconds().text.startswith("x (2, 12)")
    assert not any((head // 12).equal(words) for head in a[::2])
    for file in landing.PICTURES:
        assert f":file: _static/{file.name}" in page
