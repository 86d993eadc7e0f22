"""`trace`: the shapes of the presets, as text and as JSON."""

import pytest

from tests.helpers.commands import refusal
from tformer_lite import running_trace
from tformer_lite.__main__ import main
from tformer_lite.commands.inspecting import PRESETS


@pytest.mark.slow
def test_every_call_of_the_running_model_is_printed(capsys):
    """The witness: `running_trace`, which the chapters show."""
    assert main(["trace", "--calls"]) == 0
    head, rest = capsys.readouterr().out.split("\n", 1)
    assert (
        head == "tiny_translator: B=2, S=8, T=8, H=3, D=4, C=12, F=48, V=1024"
    )
    assert rest == f"{running_trace().calls()}\n"


@pytest.mark.full
def test_a_path_chooses_the_calls_within_it(capsys):
    path = "decoder.blocks.*.cross_attention"
    assert main(["trace", "--path", path]) == 0
    rest = capsys.readouterr().out.split("\n", 1)[1]
    assert rest == f"{running_trace().at(path)}\n"


@pytest.mark.slow
def test_the_whole_trace_goes_to_a_file_as_json(capsys, tmp_path):
    path = tmp_path / "trace.json"
    assert main(["trace", "--json", str(path)]) == 0
    assert f"Trace saved to {path}" in capsys.readouterr().out
    assert path.read_text("utf8") == running_trace().to_json()


@pytest.mark.full
@pytest.mark.parametrize("name", PRESETS)
def test_every_axis_of_every_module_has_its_name(name, capsys):
    """But for positions, whose table is longer than what is read of it."""
    assert main(["trace", "--preset", name]) == 0
    first, *lines = capsys.readouterr().out.splitlines()[1:]
    model = "DecoderOnly" if name == "char_lm" else "EncoderDecoder"
    assert first.split()[0] == model
    assert first.endswith("-> (B, T, V)")
    assert not [line for line in lines if "?" in line or "~" in line]


@pytest.mark.slow
def test_so_many_levels_of_modules_are_printed(capsys):
    assert main(["trace", "--depth", "1"]) == 0
    rest = capsys.readouterr().out.split("\n", 1)[1]
    *lines, last = str(running_trace().tree(depth=1)).splitlines()
    assert rest.splitlines()[:-1] == lines
    more = "--depth 5 shows all modules, --calls lists all"
    assert rest.splitlines()[-1].startswith(f"depth=1 of 5: {more}")
    assert last.startswith("depth=1 of 5: tree(depth=5) shows all")
    names = {line.split()[0] for line in rest.splitlines()[4:9]}
    assert names == {
        name for name, _ in running_trace().model.named_children()
    }


def test_it_has_no_preset_that_needs_a_download(capsys):
    said = refusal(capsys, "trace", "--preset", "bert_window")
    assert "char_lm" in said
