"""Changes: what each version of a text has otherwise than the one before."""

import pytest

from shapewatch.tracing import diff
from tests.helpers.listings import unstyled

FIRST = "class A:\n    def f(x):\n        return x @ y\n"
SECOND = FIRST.replace("A:", "A(B):")
THIRD = SECOND.replace("y", "y.mT") + "        # <end>\n"


def test_each_step_has_its_title_and_the_lines_that_differ():
    found = diff(FIRST, SECOND, THIRD, titles=["one", "two\nlines"])
    assert str(found).splitlines() == [
        *("one", "- class A:", "+ class A(B):"),
        *("two", "lines", "- return x @ y", "+ return x @ y.mT", "+ # <end>"),
    ]


def test_the_whole_has_what_stays_as_well():
    lines = str(diff(FIRST, SECOND, whole=True)).splitlines()
    assert lines[2:] == [f"  {line}" for line in FIRST.splitlines()[1:]]
    html = diff(FIRST, SECOND, whole=True)._repr_html_()
    assert html.count('class="same"') == 2


def test_in_html_signs_and_elements_mark_what_differs():
    """Not a colour alone: they are there where all style is taken away."""
    page = unstyled(diff(FIRST, THIRD, titles=["a\n<b>"])._repr_html_())
    assert ">a<br>&lt;b&gt;</th>" in page
    assert "<pre>− class A:</pre>" in page
    assert "<pre>+ class A<ins>(B)</ins>:</pre>" in page
    inner = " " * 8
    assert f"<pre>+ {inner}return x @ y<ins>.mT</ins></pre>" in page
    assert f"<pre>+ {inner}<ins># &lt;end&gt;</ins></pre>" in page
    assert "<td></td>" in page  # nothing stood there before
    page = unstyled(diff("    x = 1\n", "")._repr_html_())
    assert "<pre>− <del>x = 1</del></pre></td><td></td>" in page


def test_versions_and_titles_belong_together():
    with pytest.raises(ValueError, match="1 versions: give two"):
        diff(FIRST)
    with pytest.raises(ValueError, match="2 titles for 1 steps"):
        diff(FIRST, SECOND, titles=["a", "b"])
