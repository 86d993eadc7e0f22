"""Prove the README's two commands on a bare Debian, and print what they cost.

usage: fresh_machine.py [SUITE] [CARRY...], or as `make machine` has it

A machine is made in a folder (debootstrap), with git, make, Python, Chromium
and what leads it, and nothing else: SUITE is bookworm, whose Python is 3.11,
unless another is given. In it a reader, and then root, has a clone of the last
commit in a folder with a space and a letter that is not ASCII, and types the
two commands; then once more, without a network. CARRY are files and folders
that the machine gets from this one, such as pip's configuration. Root is
needed to make the machine; it is removed in the end. Linux alone. What is
received counts for all of this computer: let it do nothing else meanwhile.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = "ca-certificates chromium git iproute2 make python3 python3-venv"
PACKAGES += " libatomic1"  # for playwright, which leads Chromium
INSTALL = f"apt-get update && apt-get install -y -qq {PACKAGES}"
BOOK = "a bóok"  # the folder, in each user's home
COMMANDS = "make book", "make test"
HOMES = {"reader": "/home/reader", "root": "/root"}
MOUNTS = "mount -t proc proc proc; mount --rbind /dev dev; "
MOUNTS += "mount -t sysfs sys sys; "
OFFLINE = "ip link set lo up; "


def main(suite: str = "bookworm", *carry: str) -> None:
    """Make the machine, run everything, and say what each run took."""
    if os.geteuid() or not shutil.which("debootstrap"):
        sys.exit("make machine: this needs root, and debootstrap installed.")
    place = Path(tempfile.mkdtemp(prefix="fresh-", dir="/var/tmp"))
    place.chmod(0o755)  # the reader's, too
    try:
        make_machine(place, suite, carry)
        print(f"Debian {suite}", flush=True)
        inside(place, "root", "python3 --version")
        for user in HOMES:
            for online in True, False:
                for command in COMMANDS:
                    Measured(place, user, command, online).run()
    finally:
        shutil.rmtree(place, ignore_errors=True)


def make_machine(place: Path, suite: str, carry: tuple[str, ...]) -> None:
    """Install the machine, and put the last commit into both homes."""
    make = ["debootstrap", "--variant=minbase", suite, place]
    subprocess.run(make, check=True, stdout=sys.stderr)
    named = f"127.0.0.1 localhost {socket.gethostname()}\n"
    (place / "etc" / "hosts").write_text(named)  # as an installer does
    bring(place, carry)
    for command in INSTALL, "useradd --create-home reader":
        done = inside(place, "root", command, stdout=sys.stderr)
        done.check_returncode()
    bring(place, carry)  # once more: what was installed may have replaced it
    for user, home in HOMES.items():
        clone = place / home[1:] / BOOK
        subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
        inside(place, "root", f"chown -R {user} '{home}/{BOOK}'")


def bring(place: Path, carry: tuple[str, ...]) -> None:
    """Copy files and folders to where they are on this machine."""
    for name in carry:
        copy = place / Path(name).relative_to("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-rT", name, copy], check=True)


def inside(place: Path, user: str, command: str, online=True, **options):
    """Run a command in the machine as a user, in the clone once it is there.

    What it mounts is gone afterwards, and so is all that it started.
    """
    home = HOMES[user]
    folder = f"{home}/{BOOK}" if (place / home[1:] / BOOK).exists() else "/"
    words = ["chroot", f"--userspec={user}", ".", "env", "-i", f"HOME={home}"]
    words += [f"{n}={x}" for n, x in os.environ.items() if n[:4] == "PIP_"]
    words += ["PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LANG=C.UTF-8"]
    words += ["sh", "-c", 'cd "$0" && eval "$1"', folder, command]
    alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    net, up = ([], "") if online else (["--net"], OFFLINE)
    start = ["sh", "-c", f'{MOUNTS}{up}exec "$@"', "sh", *words]
    return subprocess.run([*alone, *net, *start], cwd=place, **options)


class Measured:
    """A command in the machine, and what it costs."""

    def __init__(self, place: Path, user: str, command: str, online: bool):
        self.place, self.user = place, user
        self.command, self.online = command, online
        self.clone = place / HOMES[user][1:] / BOOK
        self.ended = threading.Event()
        self.memory = 0

    def run(self) -> None:
        """Run it, and print a line; exit where it fails."""
        watch = threading.Thread(target=self.watch)
        before, start = received(), time.monotonic()
        watch.start()
        done = inside(
            self.place,
            self.user,
            self.command,
            self.online,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.ended.set()
        watch.join()
        took, came = time.monotonic() - start, received() - before
        where = "online" if self.online else "offline"
        print(
            f"{self.user:7} {where:8} {self.command:10} {took:5.0f} s, "
            f"{came / 1e6:5.0f} MB received, {self.disk() / 1e6:6.0f} MB on "
            f"disk, {self.memory / 1e6:5.0f} MB of memory at most: "
            f"{last_line(done.stdout)}",
            flush=True,
        )
        if done.returncode:
            log = self.clone / "install.log"
            sys.exit(done.stdout + (log.read_text() if log.exists() else ""))

    def watch(self) -> None:
        """Note how much memory the machine's processes have, at most."""
        while not self.ended.wait(0.5):
            self.memory = max(self.memory, sum(residents(self.place)))

    def disk(self) -> int:
        """How many bytes the clone has, with all that was set up in it."""
        said = subprocess.check_output(["du", "-sb", self.clone], text=True)
        return int(said.split()[0])


def last_line(text: str) -> str:
    """The last line that says something."""
    return text.strip().rpartition("\n")[2]


def received() -> int:
    """How many bytes have come into this computer; its own do not count."""
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    cards = (line.split(":") for line in lines)
    return sum(
        int(counts.split()[0]) for name, counts in cards if "lo" not in name
    )


def residents(place: Path) -> Iterator[int]:
    """The bytes of memory that each process in the machine has; what several
    share is divided by their number."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "root").readlink() == place:
                text = (process / "smaps_rollup").read_text()
                yield int(text.split("\nPss:")[1].split()[0]) * 1024
        except (OSError, IndexError):
            pass  # it has ended meanwhile


if __name__ == "__main__":
    main(*sys.argv[1:])
