"""How nbval runs and compares notebooks: as on a plain processor, unless the
shell says which, and to one unit in the last place."""

import os
from importlib.util import module_from_spec, spec_from_file_location

import nbval.kernel
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile

from tests.helpers.numbers import agree
from tests.helpers.project import ROOT

PLAIN = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}


@pytest.mark.parametrize("shell", [{}, {"MKL_CBWR": "AVX2"}])
def test_chapters_run_as_on_a_plain_processor_or_as_the_shell_says(
    shell, monkeypatch
):
    for name in PLAIN:
        monkeypatch.delenv(name, raising=False)
    for name, value in shell.items():
        monkeypatch.setenv(name, value)
    started = []
    monkeypatch.setattr(IPyNbFile, "setup", lambda _: started.append(names()))
    monkeypatch.setattr(IPyNbCell, "compare_outputs", None)
    monkeypatch.setattr(nbval.kernel, "start_new_kernel", None)
    file = ROOT / "chapters" / "conftest.py"
    spec = spec_from_file_location("chapters_conftest", file)
    spec.loader.exec_module(module_from_spec(spec))
    IPyNbFile.setup(None)
    assert started == [PLAIN | shell]
    assert names() == shell


def names() -> dict[str, str]:
    """What is set of what torch and MKL read."""
    return {name: os.environ[name] for name in PLAIN if name in os.environ}


@pytest.mark.parametrize(
    ("test", "reference", "same"),
    [
        ("(2, 8) 0.31", "(2, 8) 0.31", True),
        ("0.31", "0.32", True),
        ("[ 9.99, 1.0]", "[10.00,  1.0]", True),
        ("0.31", "0.33", False),
        ("0.310", "0.31", False),
        ("[SOS] 0.31", "[EOS] 0.31", False),
        ("0.31 0.31", "0.31", False),
        ("-∞", "0.00", False),
    ],
)
def test_outputs_agree_to_one_unit_in_the_last_place(test, reference, same):
    assert agree(test, reference) == same
