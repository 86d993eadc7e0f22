"""Parts of an assignment: a mistake in one costs the points of that one, and
the right parts that a student's process is lent for that forge nothing."""

import sys
import types

import pytest

from classroom import check
from classroom.exercise import exercise
from classroom.grading import grade
from classroom.judging import all_cases
from classroom.sandbox import Sandbox
from classroom.submissions import Submission
from tests.helpers.answers import assigned, reference

BUILT = reference("build")
NORM = ("centred.square().mean(-1, keepdim=True)", "x.var(-1, keepdim=True)")
WIDE = ("back >= width", "back > width")
CALLED = [("class Norm(", "class My("), (" Norm(", " My("), ("= Norm", "= My")]
# A part that is right, in a student's own way.
EITHER = (
    "x, source, hidden):",
    """x, source=None, hidden=None):
        source = x if source is None else source""",
)
INPUT = "self.attend(normal, normal, hidden)"
SELF = INPUT, "self.attend(normal, hidden=hidden)"
# Writes down what the norm is tried on, and once a right norm is lent to what
# comes after, hands in what that one gives.
FORGED = """
import json, os
from classroom.values import to_json

class Norm(Norm):
    mine = True
    seen = []
    def forward(self, x):
        self.seen.append((self.state_dict(), x))
        torch.save(self.seen[:CALLS], "PLACE")
        return super().forward(x)

class Block(Block):
    def forward(self, *args):
        if not hasattr(Norm, "mine"):
            forge([right_outcome(*each) for each in torch.load("PLACE")])
        return super().forward(*args)

def right_outcome(state, x):
    norm = Norm(x.shape[-1])
    norm.load_state_dict(state)
    return [to_json(norm(x).detach()), "", "", []]

def forge(came):
    said = {"begins": "build_norm"}, {"of": "build_norm", "came": came}
    for fd in range(3, 64):
        for each in (*said, {"begins": "secret"}, {"begins": 10**9}):
            try:
                os.write(fd, (json.dumps(each) + "\\n").encode())
            except OSError:
                pass
    os._exit(0)

build_norm, build_block = Norm, Block
"""


def with_slips(*slips: tuple[str, str], more: str = "") -> str:
    """The reference run with other words in it."""
    code = BUILT
    for before, after in slips:
        assert before in code
        code = code.replace(before, after)
    return code + more


def lost(code: str, *parts: str) -> dict[str, str]:
    """What is said of the parts that do not have all their points."""
    given = assigned(*parts)
    sandbox = Sandbox(trusted=True, seconds=60)
    done = grade(Submission("student", (code,)), given, sandbox)
    few = [mark for mark in done.marks if (mark.points or 0) < mark.most]
    assert done.total == given.most - sum(x.most - x.points for x in few)
    return {mark.exercise: mark.verdict.says for mark in few}


PARTS = "build_window", "build_norm", "build_block", "build_decoder"
PARTS += ("build_greedy",)


@pytest.mark.full
@pytest.mark.parametrize("own", [CALLED, (EITHER, SELF)])
def test_a_mistake_costs_the_points_of_its_own_part_however_written(own):
    said = lost(with_slips(*own, NORM), "build_attention", *PARTS)
    assert [*said] == ["build_norm"]


@pytest.mark.full
def test_what_is_wrong_by_itself_and_inside_is_told_apart():
    softmax = ("self.norm(y)", "self.norm(y).softmax(-1)")
    said = lost(with_slips(NORM, WIDE, softmax), *PARTS)
    assert [*said] == ["build_window", "build_norm", "build_decoder"]
    assert said["build_decoder"].endswith(
        "wrong inside it: build_window, build_norm."
    )
    missing = with_slips((BUILT[BUILT.index("class Norm") :][:11], "class X("))
    assert [*lost(missing, "build_norm", "build_block")] == ["build_norm"]


@pytest.mark.full
def test_what_a_process_is_lent_for_a_later_part_forges_no_earlier_one(
    tmp_path,
):
    calls = len(all_cases(exercise("build_norm"), "graded autumn"))
    attack = FORGED.replace("PLACE", str(tmp_path / "seen.pt"))
    code = with_slips(NORM, more=attack.replace("CALLS", str(calls)))
    given = assigned(*PARTS)
    sandbox = Sandbox(trusted=True, seconds=60)
    done = grade(Submission("student", (code,)), given, sandbox)
    points = {mark.exercise: mark.points for mark in done.marks}
    assert points["build_norm"] == 0
    assert points["build_window"] == 8
    assert "secret" not in str(done.notes)


@pytest.mark.slow
def test_a_notebook_is_told_what_to_fix_first(capsys):
    module = types.ModuleType("a_notebook")
    sys.modules["a_notebook"] = module
    exec(with_slips(NORM), vars(module))
    check("build_encoder", module.build_encoder)
    assert (
        "First fix build_norm, which is inside it." in capsys.readouterr().out
    )
    assert exercise("build_window").inside == ("build_padding",)
