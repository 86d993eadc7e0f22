"""A subject knows its ids, runs alike each time, and says how it fails."""

import warnings
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from shapewatch.properties.outputs import FailedError, error_line, find_output
from shapewatch.properties.perturbation import most_exact
from shapewatch.properties.subject import NotJudgedError, Subject, with_model
from shapewatch.properties.versions import TrainingModel, in_double
from tests.helpers.rounding import FilledLarge, SingleOnly
from tests.helpers.strangers import GPT
from tformer_lite import report, running_model

IDS = torch.tensor([[2, 0, 5, 1], [2, 8, 1, 1]])
ROWS = torch.randn(2, 4, 12, generator=torch.Generator().manual_seed(0))
WORDS = torch.randint(50, (2, 9), generator=torch.Generator().manual_seed(3))


class Padded(nn.Identity):
    pad = 5


RUNNING = running_model()


@pytest.mark.parametrize(
    ("model", "known", "ids"),
    [
        (nn.Identity(), {}, (None, None)),
        (Padded(), {}, (5, None)),
        (Padded(), {"pad": 1}, (1, None)),
        (RUNNING, {}, (1, 0)),
        (RUNNING, {"pad": 0}, (0, 1)),
    ],
)
def test_padding_and_unknown_words_are_the_models_or_what_is_said(
    model, known, ids
):
    given = (IDS, IDS) if model is RUNNING else (IDS,)
    subject = Subject(model, given, **known)
    assert subject.ids == ids
    pad, unknown = (-1 if known is None else known for known in ids)
    assert subject.real[0].equal(IDS.ne(pad))
    assert subject.unknown[0].equal(IDS.eq(unknown))


class Both(nn.Module):
    """Reads two sequences, and says so."""

    def forward(self, src, tgt, position_ids=None, labels=None):
        return tgt[..., None] + src.sum()


def test_the_source_comes_first_whoever_names_it_first():
    named = {"labels": IDS[:, :3], "tgt": IDS[:, :3], "src": IDS}
    subject = Subject(Both(), named=named)
    assert subject.inputs[0] is IDS
    assert subject.inputs[1] is named["tgt"]
    assert subject.places == [0, 1]


COUNTED = torch.arange(4)[None]


@pytest.mark.parametrize(
    ("model", "given", "places"),
    [
        (Both(), (COUNTED, COUNTED), [0, 1]),
        (Both(), (IDS, IDS, IDS), [0, 1]),
        (lambda *x: x[0], (IDS, COUNTED), [0]),
        (lambda *x: x[0], (IDS, IDS == 1), [0]),
        (lambda x, mask: x, (IDS, IDS), [0]),
        (lambda *x: x[0], (IDS, COUNTED + 4), [1, 0]),
        (lambda *x: x[1], (IDS, COUNTED + 4), [0, 1]),
        (lambda x, memory: x, (ROWS, ROWS), [1, 0]),
        (lambda *x: x[0], (COUNTED,), [0]),
        (lambda *x: x[0], (ROWS[..., None], torch.tensor([3.0, 7.0])), [0]),
    ],
)
def test_sequences_are_known_by_their_names_or_else_by_their_values(
    model, given, places
):
    subject = Subject(model, given)
    assert subject.places == places
    assert with_model(subject, TrainingModel(nn.Identity())).places == places


class Labelled(GPT):
    """Gives the last row alone, unless it is told the next words."""

    def forward(self, ids, targets=None):
        logits = super().forward(ids)
        if targets is None:
            return logits[:, -1:], None
        return logits, cross_entropy(logits.flatten(0, 1), targets.view(-1))


class Translates(Labelled):
    """Its targets are read."""

    def forward(self, ids, targets):
        return super().forward(targets, ids + 0)[0]


@pytest.mark.parametrize(
    ("kind", "labels", "places"),
    [
        (Labelled, WORDS.roll(-1, 1), [0]),
        (Labelled, WORDS[:, :4], [0, 1]),
        (Translates, WORDS.roll(-1, 1), [0, 1]),
        (nn.Bilinear, WORDS, [0, 1]),
    ],
)
def test_labels_that_change_no_output_are_no_sequence(kind, labels, places):
    model = kind(4, 4, 4) if kind is nn.Bilinear else kind()
    assert Subject(model, (WORDS, labels)).places == places


def test_a_model_is_run_in_evaluation_and_draws_the_same_numbers():
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(12, 12))
    subject = Subject(model, (ROWS,))
    assert subject.run().equal(model[1](ROWS))
    assert not subject.run().requires_grad
    draws = Subject(torch.rand_like, (ROWS,))
    before = torch.get_rng_state()
    assert draws.run().equal(draws.run())
    assert not draws.run().equal(draws.run(seed=1))
    assert torch.get_rng_state().equal(before)
    assert subject.run(ROWS + 1).equal(model[1](ROWS + 1))


def test_what_goes_wrong_is_said_in_one_line():
    def fail(x):
        raise KeyError("first\nsecond")

    with pytest.raises(FailedError) as caught:
        Subject(fail, (ROWS,)).run()
    assert str(caught.value) == "KeyError: 'first\\nsecond'"
    assert error_line(ValueError("first\nsecond")) == "ValueError: first"
    assert error_line(ValueError("x" * 200)) == f"ValueError: {'x' * 150}"


def test_the_output_is_the_logits_or_the_first_tensor():
    assert find_output(ROWS) is ROWS
    assert find_output({"loss": ROWS, "rest": IDS}) is ROWS
    assert find_output(SimpleNamespace(loss=IDS, logits=ROWS)) is ROWS
    with pytest.raises(FailedError) as caught:
        find_output([1, 2])
    assert str(caught.value) == "It gave list, not a tensor."


NEEDS_2_6 = pytest.mark.skipif(
    not hasattr(torch.compiler, "set_stance"), reason="needs torch 2.6"
)


def refused(*_):
    raise AssertionError("a report compiles nothing")


def in_place(model):
    model.blocks[0].compile(backend=refused)
    model.compile(backend=refused)
    return model


COMPILED = {
    "whole": lambda model: torch.compile(model, backend=refused),
    "in place": in_place,
}


@pytest.mark.slow
@NEEDS_2_6
@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_model_has_the_report_of_the_plain_one(name):
    plain, model = GPT(), GPT()
    model.load_state_dict(plain.state_dict())
    found = report(COMPILED[name](model), WORDS)
    assert str(found) == str(report(plain, WORDS))


def quantised():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.ao.quantization.quantize_dynamic(GPT())


NO_INPUT, NO_NAMED = r"ids \(B, T\), and not: ", "inputs are tensors, such as"
REFUSED = [
    (ValueError, r"input \(2, 0\) on cpu holds no numbers", WORDS[:, :0], {}),
    (ValueError, "on meta holds no numbers", WORDS.to("meta"), {}),
    (ValueError, "positions=1 is too few: the first", WORDS, {"positions": 1}),
    (ValueError, "no check 'speed': ", WORDS, {"expect": {"speed": ""}}),
    (TypeError, f"{NO_INPUT}str", "words", {}),
    (TypeError, f"{NO_INPUT}list", [[1, 2]], {}),
    (TypeError, f"{NO_INPUT}Size", IDS.shape, {}),
    (TypeError, f"{NO_INPUT}ndarray", IDS.numpy(), {}),
    (TypeError, NO_NAMED, {"ids": [[1, 2]], "places": WORDS}, {}),
    (TypeError, NO_NAMED, {"ids": IDS.numpy(), "places": WORDS}, {}),
    (TypeError, "pad='<pad>' is not an id", WORDS, {"pad": "<pad>"}),
    (TypeError, "loss='ce' is not a function", WORDS, {"loss": "ce"}),
    (TypeError, "'mask' is neither", {"ids": WORDS, "mask": WORDS}, {}),
    (TypeError, "'pads' is neither an option", WORDS, {"pads": 1}),
]


@pytest.mark.parametrize(("error", "says", "given", "known"), REFUSED)
def test_what_no_report_can_be_made_of_is_refused(error, says, given, known):
    with pytest.raises(error, match=says):
        report(GPT(), given, **known)


@pytest.mark.parametrize(
    ("make", "inputs", "says"),
    [
        (lambda: GPT().to("meta"), 1, "the weight .* is on meta"),
        (quantised, 1, "a quantised Linear rounds"),
        (GPT, 3, "too many positional arguments: the model's"),
    ],
)
def test_a_model_that_cannot_run_like_this_is_refused(make, inputs, says):
    with pytest.raises((TypeError, ValueError), match=says):
        report(make(), *[WORDS] * inputs)


def test_what_the_cast_to_double_breaks_is_not_judged():
    single = Subject(SingleOnly(), (IDS,))
    with pytest.raises(NotJudgedError, match="TypeError: float32 is wanted"):
        in_double(single)
    assert most_exact(single).model is single.model


def test_in_double_precision_what_is_cast_is_cast_to_double():
    before = torch.get_default_dtype()
    double = in_double(Subject(GPT(attention=FilledLarge), (IDS,)))
    assert double.run().dtype == torch.float64
    assert torch.get_default_dtype() == before
