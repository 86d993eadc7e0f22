"""Where files are written, and what they may replace."""

import os
import re
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.learning import text, trainer, writer
from tests.helpers.project import ROOT
from tformer_lite import Checkpoint, load_checkpoint, save_checkpoint, train
from tformer_lite.training.files import check_place

CHECKPOINT = Checkpoint(writer())
NOBODY = 65534


def refused(path, said):
    """Neither checked nor written: one error, with the name as given."""
    for act in (check_place, lambda path: save_checkpoint(CHECKPOINT, path)):
        with pytest.raises(OSError, match=said) as caught:
            act(path)
        assert caught.value.filename == str(path)


@contextmanager
def anybody():
    """A folder of a user who has no rights but to their own."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as above:
        Path(above).chmod(0o777)
        if root:
            os.seteuid(NOBODY)
        try:
            folder = Path(above, "mine")
            folder.mkdir()
            yield folder
            folder.chmod(0o777)
        finally:
            if root:
                os.seteuid(0)


def test_what_is_no_file_is_left_as_it_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/full"), Path("/dev/null")):
        before = path.stat().st_mode
        refused(path, "is a device or a pipe, not a file")
        assert path.stat().st_mode == before
    refused(tmp_path, "is a folder, not a file")
    (tmp_path / "link").symlink_to("/dev/full")
    refused(tmp_path / "link", "is a device or a pipe")
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


def test_a_training_is_refused_before_its_first_step():
    one = trainer()
    with pytest.raises(OSError, match="is a device"):
        train(one, text(), path="/dev/full")
    assert one.step == 0


def test_what_is_read_only_stays():
    with anybody() as folder:
        path = folder / "model.pt"
        save_checkpoint(CHECKPOINT, path)
        content = path.read_bytes()
        path.chmod(0o444)
        refused(path, "Permission denied")
        folder.chmod(0o555)
        refused(folder / "new.pt", "Permission denied")
        assert path.read_bytes() == content
        assert os.listdir(folder) == ["model.pt"]


@pytest.mark.slow
def test_the_file_behind_a_link_is_replaced(tmp_path):
    """And a link to nothing makes a file there, as `open` does."""
    (tmp_path / "models").mkdir()
    link, target = tmp_path / "link.pt", tmp_path / "models" / "real.pt"
    link.symlink_to(Path("models", "real.pt"))
    for _ in range(2):
        save_checkpoint(CHECKPOINT, link)
        assert link.is_symlink()
        assert not target.is_symlink()
        assert load_checkpoint(target).model.config
    assert os.listdir(target.parent) == ["real.pt"]


def test_links_in_a_circle_are_refused(tmp_path):
    for here, there in (("a", "b"), ("b", "a")):
        (tmp_path / here).symlink_to(tmp_path / there)
    refused(tmp_path / "a", "symbolic links")


def test_its_permissions_are_those_of_any_file_or_of_the_former(tmp_path):
    path, other = tmp_path / "model.pt", tmp_path / "other"
    other.touch()
    save_checkpoint(CHECKPOINT, path)
    assert stat.S_IMODE(path.stat().st_mode) == other.stat().st_mode & 0o777
    path.chmod(0o640)
    save_checkpoint(CHECKPOINT, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_parts_of_killed_processes_go_after_an_hour(tmp_path):
    """One that is still written to, and those of other files, stay."""
    path = tmp_path / "model[1].pt"
    names = "model[1].pt.0123abcd.part", "model1.pt.0123abcd.part"
    young = tmp_path / "model[1].pt.89ef0123.part"
    for name in (*names, young.name):
        (tmp_path / name).touch()
        now = (tmp_path / name).stat().st_mtime
        os.utime(tmp_path / name, (now - 3700, now - 3700))
    young.write_bytes(b"half")
    save_checkpoint(CHECKPOINT, path)
    assert set(os.listdir(tmp_path)) == {path.name, young.name, names[1]}


MANY = """
import sys
from tests.helpers.learning import writer
from tformer_lite import Checkpoint, load_checkpoint, save_checkpoint
one = Checkpoint(writer(int(sys.argv[2])))
for _ in range(15):
    save_checkpoint(one, sys.argv[1])
    load_checkpoint(sys.argv[1])
"""


@pytest.mark.full
def test_two_processes_write_and_read_one_file(tmp_path):
    path = tmp_path / "model.pt"
    run = [sys.executable, "-c", MANY, str(path)]
    both = [
        subprocess.Popen([*run, seed], cwd=ROOT, stderr=subprocess.PIPE)
        for seed in "01"
    ]
    said = [process.communicate()[1].decode() for process in both]
    assert said == ["", ""]
    assert os.listdir(tmp_path) == [path.name]


def test_an_error_names_the_file_and_not_a_part_of_it(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    path = tmp_path / "model.pt"
    said = f"No space left on device: {re.escape(repr(str(path)))}$"
    with pytest.raises(OSError, match=said):
        save_checkpoint(CHECKPOINT, path)
    assert os.listdir(tmp_path) == []
