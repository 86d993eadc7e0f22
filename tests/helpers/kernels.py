"""Kernels in which torch is there at once: each is forked from a process that
has imported torch and what draws, and nothing of the book's."""

import atexit
import json
import os
import signal
import subprocess
import sys
from functools import cache
from typing import TextIO

from jupyter_client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

WARM = """\
import json, os, signal, sys
import matplotlib.figure, seaborn, torch
from ipykernel import kernelapp
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in 0, 1, 2:
            os.dup2(null, stream)
        folder, file = json.loads(line)
        os.chdir(folder)
        kernelapp.launch_new_instance(["-f", file])
        os._exit(0)
    print(pid, flush=True)
"""


@cache
def warm() -> subprocess.Popen:
    """Start the process to fork from, in the environment that is set now."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(
        [sys.executable, "-c", WARM], text=True, **pipes
    )
    atexit.register(process.communicate)  # its input ends, and so does it
    return process


class Forked:
    """A kernel's process, as nbval asks for it."""

    def __init__(self, folder: str):
        self.file, _ = write_connection_file()
        print(json.dumps([folder, self.file]), file=warm().stdin, flush=True)
        self.pid = int(warm().stdout.readline())

    def is_alive(self) -> bool:
        """Whether the process is there."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def interrupt_kernel(self) -> None:
        """Stop what the kernel is at."""
        os.kill(self.pid, signal.SIGINT)

    def shutdown_kernel(self, now: bool) -> None:
        """End the process, and all that it has started."""
        os.killpg(self.pid, signal.SIGKILL)
        os.remove(self.file)


def start_new_kernel(
    startup_timeout: int, cwd: str, stderr: TextIO, **_: object
) -> tuple[Forked, BlockingKernelClient]:
    """Fork a kernel in a folder, and connect to it."""
    stderr.close()  # it says nothing of its own
    manager = Forked(cwd)
    client = BlockingKernelClient(connection_file=manager.file)
    client.load_connection_file()
    client.start_channels()
    client.wait_for_ready(timeout=startup_timeout)
    return manager, client
