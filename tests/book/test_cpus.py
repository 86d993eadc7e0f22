"""The tool that runs the notebooks as other processors would."""

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import SimpleNamespace

import cpus
import nbval.kernel
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile

from tests.helpers.project import ROOT

PLAIN, OWN = ("default", "COMPATIBLE"), ("avx512", "AUTO")


def pairs(capability, mkl):
    """The settings for a processor, without their names."""
    found = cpus.settings(capability, mkl)
    return [tuple(setting.values()) for setting in found]


def test_a_processor_runs_as_itself_and_as_all_that_are_plainer():
    mixed = [("default", "AVX2"), ("avx2", "COMPATIBLE"), ("avx2", "AVX2")]
    assert pairs("avx512", True) == [OWN, PLAIN, *mixed]
    assert pairs("avx2", True)[1:] == [PLAIN, *mixed]


def test_what_a_processor_does_not_have_is_not_asked_of_it():
    assert pairs("default", True) == [("default", "AUTO"), PLAIN]
    for arm in "default", "sve256":
        assert set(pairs(arm, False)) == {(arm, "AUTO"), ("default", "AUTO")}


@pytest.mark.full
def test_torch_runs_as_it_is_told():
    place = {"PYTHONPATH": os.pathsep.join(sys.path)} | cpus.PLAIN
    said = subprocess.check_output(
        [sys.executable, "-c", "import cpus; print(cpus.own())"],
        env=os.environ | place,
        text=True,
    )
    assert said == "default\n"


@pytest.fixture
def runs(monkeypatch):
    """What would be run: the environment of each; those in `bad` fail."""
    found, bad = [], []

    def run(command, env, **_):
        found.append(env)
        said = cpus.titled({n: env[n] for n in cpus.NAMES}, 0)
        return SimpleNamespace(returncode=int(said in bad))

    monkeypatch.setattr(cpus.subprocess, "run", run)
    monkeypatch.setattr(cpus, "own", lambda: "avx512")
    monkeypatch.setattr(cpus.torch.backends.mkl, "is_available", lambda: True)
    return found, bad


def test_each_setting_runs_with_one_thread_and_with_two(runs):
    found, _ = runs
    assert cpus.main() is None
    threads = {(e["OMP_NUM_THREADS"], e["MKL_NUM_THREADS"]) for e in found}
    assert threads == {("1", "1"), ("2", "2")}
    ran = [tuple(env[name] for name in cpus.NAMES) for env in found]
    assert sorted(ran) == sorted(2 * pairs("avx512", True))


def test_those_that_fail_are_named_at_the_end(runs, capsys):
    _, bad = runs
    bad.append("ATEN_CPU_CAPABILITY=avx2 MKL_CBWR=AVX2 OMP_NUM_THREADS=0")
    name = bad[0].removesuffix("0")
    assert cpus.main() == f"Failed:\n{name}1\n{name}2"
    assert f"==== {name}1\n" in capsys.readouterr().out


@pytest.fixture
def kernel(monkeypatch):
    """What nbval, as our chapters set it up, starts a notebook with."""
    for name in cpus.NAMES:
        monkeypatch.delenv(name, raising=False)
    found = []

    def keep(_):
        found.append({name: os.environ.get(name) for name in cpus.NAMES})

    monkeypatch.setattr(IPyNbFile, "setup", keep)
    monkeypatch.setattr(IPyNbCell, "compare_outputs", None)
    monkeypatch.setattr(nbval.kernel, "start_new_kernel", None)
    file = ROOT / "chapters" / "conftest.py"
    spec = spec_from_file_location("chapters_conftest", file)
    spec.loader.exec_module(module_from_spec(spec))

    def start():
        IPyNbFile.setup(None)
        return found[-1]

    return start


def test_chapters_run_as_on_a_plain_processor(kernel):
    assert kernel() == cpus.PLAIN
    assert not set(cpus.NAMES) & set(os.environ)


def test_what_the_shell_has_set_is_left_as_it_is(kernel, monkeypatch):
    monkeypatch.setenv("MKL_CBWR", "AVX2")
    assert kernel() == cpus.PLAIN | {"MKL_CBWR": "AVX2"}
