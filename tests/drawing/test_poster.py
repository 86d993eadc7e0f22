"""The poster: its tensors are those of the run, its costs the model's, and
it can be read when it is printed."""

import pytest
from pictures.poster import poster
from pictures.thumbs import thumbs_of

from tests.helpers.diagrams import traced
from tests.helpers.drawings import letter_faults
from tformer_lite import running_trace
from tformer_lite.drawing.diagram.anatomy import sides_of
from tformer_lite.drawing.surface.palette import SHARE


@pytest.fixture(scope="module")
def seen():
    return running_trace()


@pytest.mark.full
def test_the_costs_on_the_poster_add_up_to_those_of_the_model(seen):
    thumbs = [t for s in sides_of(seen) for t in thumbs_of(seen, s)]
    whole = seen.flops()[""]
    counted = sum(thumb.cost for thumb in thumbs).tolist()
    assert counted == [whole.parameters, whole.flops]


@pytest.mark.slow
def test_the_poster_shows_the_tensors_of_the_run(seen):
    thumbs = [t for s in sides_of(seen) for t in thumbs_of(seen, s)]
    attentions = seen.attention()
    weights = [thumb for thumb in thumbs if thumb.kind is SHARE]
    assert len(weights) == len(attentions) == 3
    for thumb, found in zip(weights, attentions):
        for drawn, head in zip(thumb.matrices, found.weights[0]):
            shown = ~drawn.isneginf()
            assert drawn[shown].equal(head[shown])
            assert not head[~shown].any()
    assert thumbs[-1].matrices[0].equal(seen.result[0])


@pytest.mark.full
@pytest.mark.parametrize("name", ["running", "writer"])
def test_the_letters_of_the_poster_are_apart(seen, name):
    kept = seen if name == "running" else traced("kept writer")
    picture = poster(kept, ["longest_words"] * 8)
    faults = letter_faults(picture)
    assert [f for f in faults if "overlaps" in f or "leaves" in f] == []
    assert list(picture._repr_mimebundle_()) == ["text/plain", "image/png"]
