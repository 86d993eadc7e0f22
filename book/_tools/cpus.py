"""Run all notebooks as other processors would: chapters/*.ipynb, unchanged.

Processors add up in other orders, so numbers part in the last bit. Nothing
that a chapter prints may hang on that.
"""

import os
import subprocess
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).parents[2]
NAMES = "ATEN_CPU_CAPABILITY", "MKL_CBWR"  # torch's own kernels, and MKL's
PLAIN = dict(zip(NAMES, ("default", "COMPATIBLE")))
NBVAL = ["--nbval", "--nbval-current-env", "-n", "2", "--dist", "loadfile"]
# The same hashes in each run; and threads that wait let others work.
QUIET = {"PYTHONHASHSEED": "0", "OMP_WAIT_POLICY": "PASSIVE"}
PYTEST = [sys.executable, "-m", "pytest", "chapters", *NBVAL, "-q"]


def main() -> str | None:
    """Try each setting with one and two threads; name those that fail."""
    failed = []
    for setting in settings(own(), torch.backends.mkl.is_available()):
        for threads in 1, 2:
            title = titled(setting, threads)
            print(f"==== {title}", flush=True)
            if not agrees(setting, threads):
                failed.append(title)
    return "\n".join(["Failed:", *failed]) if failed else None


def own() -> str:
    """Name what torch makes use of on this processor."""
    return torch.backends.cpu.get_cpu_capability().lower()


def settings(capability: str, mkl: bool) -> list[dict[str, str]]:
    """List as what a processor can run: first as itself, then as plainer
    ones. What it does not have is left out, AVX2 as well as MKL."""
    wide = capability.startswith("avx")
    names = ["default", *(["avx2"] if wide else [])]
    modes = ["COMPATIBLE", *(["AVX2"] if wide else [])] if mkl else ["AUTO"]
    found = [(capability, "AUTO")]
    found += [(name, mode) for name in names for mode in modes]
    return [dict(zip(NAMES, pair)) for pair in dict.fromkeys(found)]


def titled(setting: dict[str, str], threads: int) -> str:
    """Write a setting as a shell would take it."""
    words = [f"{name}={value}" for name, value in setting.items()]
    return " ".join([*words, f"OMP_NUM_THREADS={threads}"])


def agrees(setting: dict[str, str], threads: int) -> bool:
    """Run the notebooks under a setting, and tell whether all agree."""
    number = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads)
    number = {name: str(value) for name, value in number.items()}
    place = os.environ | setting | number | QUIET
    return subprocess.run(PYTEST, cwd=ROOT, env=place).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
