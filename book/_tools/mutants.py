"""Plant small faults, one at a time, and count those that a test notices.

usage: mutants.py [again] [FILE...]

Of each FILE of our packages (the attention, masks, layers and properties, if
none is given) every mutant is tried on the quick tests that stand nearest.
What no test notices stands in tests/mutants.json, with the words of whoever
read it: `why` says that it is no fault at all. `again` tries those alone that
have no such words.
"""

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import NamedTuple

import pytest
from packages import PACKAGES

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "tformer_lite"
NOTES = ROOT / "tests" / "mutants.json"
FILES = [
    *(MODULE / "model" / f"{x}.py" for x in ("attention", "masks", "layers")),
    *sorted((ROOT / "shapewatch" / "properties").glob("[a-z]*.py")),
]
TESTS = {
    "model": ["tests/model", "tests/pytorch"],
    "properties": ["tests/shapewatch/properties", "tests/gallery"],
}
QUICK = ["-x", "-q", "-m", "not full", "-p", "no:cacheprovider"]
AT_ONCE = 2
LIMIT = 300  # seconds: a loop without an end is noticed, too
OURS = {*PACKAGES, "tests"}


class Mutant(NamedTuple):
    """A file with one fault: the lines that differ, and the whole of it."""

    before: str
    after: str
    code: str


def main(*words: str) -> None:
    """Try the mutants, write down what survives, and print the score."""
    notes = json.loads(NOTES.read_text()) if NOTES.exists() else {}
    names = [word for word in words if word != "again"]
    files = [Path(name).resolve() for name in names] or FILES
    warm({room(file): file for file in files})
    for file in files:
        name = str(file.relative_to(ROOT))
        old = notes.get(name, {"survivors": []})["survivors"]
        notes[name] = tried(file, old, "again" in words)
        print(f"{name}: {score([notes[name]])}", flush=True)
        notes = dict(sorted(notes.items()))
        text = json.dumps(notes, indent=1, ensure_ascii=False)
        NOTES.write_text(text + "\n", "utf-8")
    print(f"All: {score(notes.values())}")
    waiting = [x.name for x in FILES if str(x.relative_to(ROOT)) not in notes]
    print(f"Not tried so far: {', '.join(waiting) or 'none'}")


def warm(rooms: dict[str, Path]) -> None:
    """Import all that tests need but ours, which each process does anew; and
    make sure that tests fail in a room where a file is broken, else not."""
    for name, file in rooms.items():
        pytest.main(["--collect-only", "-qq", *QUICK, *TESTS[name]])
        for ours in [x for x in sys.modules if x.partition(".")[0] in OURS]:
            del sys.modules[ours]
        right = Mutant("", "", file.read_text("utf-8"))
        broken = Mutant("", "", "1 / 0")
        if Trial(file).survivors([right, broken]) != [right]:
            sys.exit(f"{name}: a quick test fails as it is, or none can.")


def room(file: Path) -> str:
    """The room of the house that a file is in."""
    return file.relative_to(ROOT).parts[1].removesuffix(".py")


def tried(file: Path, old: list[dict], again: bool) -> dict:
    """What is to be noted of a file: how many mutants, and which survive."""
    found = mutants(file)
    why = {(x["before"], x["after"]): x["why"] for x in old}
    left, kept = found, []
    if again:
        left = [x for x in found if why.get((x.before, x.after)) == ""]
        kept = [x for x in old if x["why"]]
    for x in Trial(file).survivors(left):
        words = why.get((x.before, x.after), "")
        kept.append({"before": x.before, "after": x.after, "why": words})
    return {"mutants": len(found), "survivors": kept}


def mutants(file: Path) -> list[Mutant]:
    """All mutants of a file, in the order of their lines' letters."""
    from mutations import faulty  # `make mutants` fetches what that needs

    source = file.read_text("utf-8")
    return sorted(
        Mutant(*differing(source, code), code) for code in faulty(source)
    )


def differing(old: str, new: str) -> tuple[str, str]:
    """The lines of two texts from the first that differs to the last."""
    a, b = old.splitlines(), new.splitlines()
    steps = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    steps = [step for step in steps if step[0] != "equal"]
    (_, top, _, over, _), (_, _, low, _, under) = steps[0], steps[-1]
    return flat(a[top:low]), flat(b[over:under])


def flat(lines: list[str]) -> str:
    """Write lines as one, without what only lays them out."""
    return " ".join(" ".join(lines).split())


def counts(notes: Iterable[dict]) -> tuple[int, int, int]:
    """How many mutants there are, how many a test notices, and how many of
    the others are no faults."""
    notes = list(notes)
    survivors = [x for note in notes for x in note["survivors"]]
    count = sum(note["mutants"] for note in notes)
    same = sum(bool(x["why"]) for x in survivors)
    return count, count - len(survivors), same


def score(notes: Iterable[dict]) -> str:
    """The counts in words."""
    count, noticed, same = counts(notes)
    share = noticed / count if count else 1
    return f"{noticed} of {count} noticed, {share:.1%}; {same} are no faults"


class Trial:
    """Tests run with mutants of a file, each in a process of its own.

    Tests that noticed most of those before come first.
    """

    def __init__(self, file: Path):
        self.file, self.tests = file, TESTS[room(file)]
        self.noticed: Counter[str] = Counter()
        self.running: dict[int, tuple[Mutant, int, float]] = {}

    def survivors(self, waiting: list[Mutant]) -> list[Mutant]:
        """The mutants that no test notices."""
        left, waiting = [], waiting[::-1]
        while waiting or self.running:
            while waiting and len(self.running) < AT_ONCE:
                self.start(waiting.pop())
            for child in list(self.running):
                left += self.ended(child)
            time.sleep(0.02)
        return left

    def start(self, mutant: Mutant) -> None:
        """Run the tests with a mutant, in a process that goes on alone."""
        receive, send = os.pipe()
        child = os.fork()
        if child:
            os.close(send)
            self.running[child] = mutant, receive, time.monotonic() + LIMIT
            return
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in 0, 1, 2:
            os.dup2(null, stream)
        plant(self.file, mutant.code)
        order = Order(self.noticed, send)
        os._exit(pytest.main([*QUICK, *self.tests], plugins=[order]))

    def ended(self, child: int) -> list[Mutant]:
        """A mutant whose tests have ended well; of others note which test
        failed, and end what takes too long."""
        mutant, receive, until = self.running[child]
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
        done, status = os.waitpid(child, os.WNOHANG)
        if not done:
            return []
        del self.running[child]
        with open(receive) as pipe:
            self.noticed.update(pipe.read().split("\n")[:1])
        return [] if status else [mutant]


def plant(file: Path, code: str) -> None:
    """Let the import of a file find other code."""
    read = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str):
        if Path(loader.path).resolve() == file:
            return compile(code, loader.path, "exec")
        return read(loader, name)

    SourceFileLoader.get_code = get_code


class Order:
    """For pytest: sharp tests come first, and the one that fails is told."""

    def __init__(self, noticed: Counter[str], pipe: int):
        self.noticed, self.pipe = noticed, pipe

    def pytest_configure(self) -> None:
        """A failure is enough: nobody reads the smallest one."""
        from hypothesis import Phase, settings

        phases = Phase.explicit, Phase.generate
        settings.register_profile("once", phases=phases, database=None)
        settings.load_profile("once")

    def pytest_collection_modifyitems(self, items: list) -> None:
        """Sort the tests."""
        items.sort(key=lambda item: -self.noticed[item.nodeid])

    def pytest_runtest_logreport(self, report) -> None:
        """Tell the name of what fails."""
        if report.failed:
            os.write(self.pipe, f"{report.nodeid}\n".encode())


if __name__ == "__main__":
    os.chdir(ROOT)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.insert(0, str(ROOT))
    main(*sys.argv[1:])
