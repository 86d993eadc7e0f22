"""Notebooks run as on a plain processor, unless the shell says which."""

import os
from importlib.util import module_from_spec, spec_from_file_location

import nbval.kernel
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile

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
