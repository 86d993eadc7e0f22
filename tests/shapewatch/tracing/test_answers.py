"""What a trace gives: documented names alone."""

import re

from shapewatch.tracing import Diff, trace
from tests.helpers.small import build, small, words
from tformer_lite import DecoderOnly

IDS = words(11, 2, 5)

PUBLIC = {
    "Trace": "at attention axes calls check_axes compare first_nan flops "
    "inputs model notes parameters result sizes source steps tree",
    "Step": "call code function line makes name place reads turn visit",
    "Table": "at notes rows",
    "Row": "call expression inputs makes outputs path reads types variable",
    "Tree": "depth more notes",
    "Sheet": "headers notes rows",
    "AnnotatedSource": "",
    "Diff": "notes",
    "Axis": "name proof size",
    "Attention": "axes keys masked mixed path queries scores values weights",
}


def test_nothing_inside_shows_beside_what_is_documented():
    """What completion offers: each is a documented method, or is named in
    the docstring of the class or of what it is a kind of."""
    model = build(DecoderOnly, small("char_lm"))
    seen = trace(model, IDS, keep=True)
    things = [seen, seen.steps[0], seen.calls(), seen.tree()]
    things += [seen.calls().rows[0], seen.parameters(), Diff("a", "b")]
    things += [seen.source(DecoderOnly), seen.axes[-1][0][0][0]]
    things += [seen.attention()[0]]
    assert {type(thing).__name__ for thing in things} == {*PUBLIC}
    for thing in things:
        kind, tuples = type(thing), {*dir(tuple)}
        shown = [x for x in dir(thing) if x[0] != "_" and x not in tuples]
        assert shown == sorted(PUBLIC[kind.__name__].split())
        texts = " ".join(x.__doc__ or "" for x in kind.__mro__[:-1])
        told = {*re.findall(r"`(\w+)", texts)}
        assert [
            name
            for name in shown
            if name not in told and not getattr(kind, name, None).__doc__
        ] == []
