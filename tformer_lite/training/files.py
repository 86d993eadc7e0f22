"""Files that are written whole or not at all, and checked as they are read."""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EINVAL, EISDIR, ENOTDIR
from glob import escape
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO
from warnings import catch_warnings
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import torch

HOUR = 3600  # seconds: nobody writes for so long without a byte


def check_place(path: str | Path) -> None:
    """Raise OSError for a path that no file can be written to.

    That is a folder, a device, a pipe, a file that is read-only, and what
    lies in a folder that is. The folders on the way are made.
    """
    with new_part(path):
        pass


def write_whole(packed: dict[str, Any], path: str | Path) -> None:
    """Write with torch.save: whole, or not at all.

    A file of that name is replaced once the new one is complete and on the
    disk; where a link stands there, the file that it leads to. Several
    processes may write to one path at once: the last one to end stays.
    Raises OSError as `check_place` does, and for a disk that is full.
    """
    with new_part(path) as part:
        target = Path(os.path.realpath(path))
        with open(part, "r+b") as file:
            save(packed, file)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, part)
        os.replace(part, target)
        sync_folder(target.parent)


def save(packed: dict[str, Any], file: BinaryIO) -> None:
    """Call torch.save, with the system's own error where there is one."""
    try:
        torch.save(packed, file)
    except RuntimeError as error:  # of the zip file, which has no end then
        if isinstance(error.__context__, OSError):
            raise error.__context__ from None
        raise


@contextmanager
def new_part(path: str | Path) -> Iterator[Path]:
    """Make an empty file beside the one at `path`, to be written and put in
    its place, or else deleted; so are those that killed processes left."""
    target = Path(os.path.realpath(path))
    part = target.parent / f"{target.name}.{token_hex(4)}.part"
    try:
        check_target(target)
        part.touch(exist_ok=False)  # with the permissions of any new file
        clear_leftovers(target, part.stat().st_mtime)
        yield part
    except OSError as error:
        if error.errno is None:
            raise
        # The name that was typed, and not that of a part.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            part.unlink()


def check_target(target: Path) -> None:
    """Make a file's folder; OSError for what is no file that one may write
    to."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode
    except FileNotFoundError:
        return
    except FileExistsError:
        raise OSError(ENOTDIR, "lies in a file, not in a folder") from None
    if stat.S_ISDIR(mode):
        raise OSError(EISDIR, "is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise OSError(EINVAL, "is a device or a pipe, not a file")
    with open(target, "r+b"):  # PermissionError for what is read-only
        pass


def clear_leftovers(target: Path, now: float) -> None:
    """Delete parts of a file to which nothing was written for an hour."""
    for part in target.parent.glob(f"{escape(target.name)}.????????.part"):
        with suppress(OSError):  # another process was quicker
            if now - part.stat().st_mtime > HOUR:
                part.unlink()


def sync_folder(folder: Path) -> None:
    """Let the new name reach the disk too, where the system can do so."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_checked(path: str | Path) -> object:
    """Read tensors, numbers and words; ValueError for any other file, and
    for one of which as much as a bit is not as it was written."""
    with open(path, "rb") as file, damage_told(path):
        check_sums(file)
        file.seek(0)
        with catch_warnings(action="ignore"):
            packed = torch.load(file, map_location="cpu", weights_only=True)
        check_tensors(packed)
        return packed


@contextmanager
def damage_told(path: str | Path) -> Iterator[None]:
    """Turn any error into a ValueError that says what to do with a file."""
    try:
        yield
    except Exception as error:  # there is no end to what files hold
        raise ValueError(
            f"{path} is damaged, or no checkpoint: it cannot be read. Train "
            "again, or take a copy of it."
        ) from error


def check_sums(file: BinaryIO) -> None:
    """Raise BadZipFile for a file whose records are not what their check
    sums say, or unpack to more than the file has."""
    with ZipFile(file) as records:
        sizes = [record.file_size for record in records.infolist()]
        kinds = {record.compress_type for record in records.infolist()}
        if sum(sizes) > file.seek(0, os.SEEK_END) or kinds - {ZIP_STORED}:
            raise BadZipFile("records are stored as they are")
        if name := records.testzip():
            raise BadZipFile(f"{name} has changed")


def check_tensors(packed: object) -> None:
    """Raise ValueError for a tensor that has fewer numbers than its shape:
    whoever copied it would need any amount of memory."""
    if isinstance(packed, torch.Tensor):
        if packed.untyped_storage().nbytes() < packed.nbytes:
            raise ValueError(f"{tuple(packed.shape)} is a shape without end")
    elif isinstance(packed, dict | list | tuple | set):
        parts = packed.values() if isinstance(packed, dict) else packed
        for part in parts:
            check_tensors(part)
