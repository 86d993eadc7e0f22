"""What recording costs: tools that look at a run, against a plain one.

pip install -r benchmarks/requirements.txt    # the other tools
python -m benchmarks.recording                # about ten minutes

Each number says how many times as long as a plain run a tool takes, on one
thread and without gradients: the two take turns, and each round gives a
ratio. Printed are the median of the rounds and, in brackets, the quartiles.
Each tool has a process of its own for each model.
"""

from functools import partial
from importlib.metadata import PackageNotFoundError, version

import torch

from benchmarks.alone import alone
from benchmarks.models import MODELS
from benchmarks.rounds import in_turns, spread
from benchmarks.tools import TOOLS


def cost(model: str, tool: str) -> str:
    """Write how many times as long as a plain run a tool takes."""
    net, inputs = MODELS[model]()
    mine = TOOLS[tool].use(net, inputs)
    rounds = in_turns(mine, partial(net, *inputs))
    return spread([ours / plain for ours, plain in rounds])


def plain_run(model: str) -> str:
    """Write how many milliseconds a plain run takes."""
    net, inputs = MODELS[model]()
    rounds = in_turns(partial(net, *inputs), budget=10)
    return spread([1000 * seconds for (seconds,) in rounds], 1)


def cost_cell(model: str, tool: str, failures: list[str]) -> str:
    """Write a tool's cost; or that there is none, and why to `failures`."""
    if installed_version(tool) == "not installed":
        return installed_version(tool)
    try:
        return alone("benchmarks.recording:cost", model, tool)
    except RuntimeError as error:
        failures.append(f"{tool} fails on {model}: {error}")
        return "fails"


def installed_version(tool: str) -> str:
    """Give the version of a tool that is installed, if it is."""
    try:
        package = TOOLS[tool].package
        return version(package) if package else ""
    except PackageNotFoundError:
        return "not installed"


def line(first: str, cells: list[str]) -> None:
    """Print a row of the table, as soon as it is known."""
    print(f"{first:28}", *(f"{cell:24}" for cell in cells), flush=True)


def main() -> None:
    """Print one row for each tool, and then what each was given."""
    failures: list[str] = []
    print(f"torch {torch.__version__}, one thread: times a plain run\n")
    line("", list(MODELS))
    plain = [alone("benchmarks.recording:plain_run", m) for m in MODELS]
    line("(a plain run, ms)", plain)
    for name in TOOLS:
        cells = [cost_cell(model, name, failures) for model in MODELS]
        line(f"{name} {installed_version(name)}", cells)
    print("", *failures, sep="\n")
    print("What each was given:")
    for name, tool in TOOLS.items():
        print(f"- {name}: {' '.join(tool.use.__doc__.split())}")


if __name__ == "__main__":
    main()
