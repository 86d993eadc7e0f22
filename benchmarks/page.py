"""Fill in the tables of book/benchmarks.md, from book/benchmarks.json.

A table stands between <!-- its name --> and <!-- end -->: nobody types a
figure.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from benchmarks.recording import TOOLS

BOOK = Path(__file__).parents[1] / "book"
PAGE, FIGURES = BOOK / "benchmarks.md", BOOK / "benchmarks.json"
PLACE = re.compile(r"<!-- (?!end)(\w+) -->\n.*?(?=<!-- end -->)", re.DOTALL)


def filled(page: str, figures: dict) -> str:
    """Write each table of a page anew."""

    def written(place: re.Match) -> str:
        text = table_of(place[1], figures)
        inside = f'<div class="figures">\n\n{text}\n</div>'
        return f"<!-- {place[1]} -->\n\n{inside}\n\n"

    return PLACE.sub(written, page)


def table_of(name: str, figures: dict) -> str:
    """Write what stands in one place: a table of its own, or a section's."""
    if name in WRITERS:
        return WRITERS[name](figures)
    groups = figures.get(name, {}).items()
    parts = [f"**{what}**\n\n{comparison(rows)}" for what, rows in groups]
    return "\n".join(parts) or "Not measured.\n"


def table(head: list[str], body: Iterable[Iterable[str]]) -> str:
    """Write rows under a head."""
    rows = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def comparison(rows: list[dict]) -> str:
    """Write what took turns: time, ratio to the first, and what else is
    known of all."""
    kinds = [kind for kind in COLUMNS if kind in rows[0]]
    if len(rows) < 2:
        kinds.remove("ratio")
    titles = [COLUMNS[kind][0].format(rows[0]["name"]) for kind in kinds]
    body = [
        [row["name"], *(COLUMNS[kind][1](row[kind]) for kind in kinds)]
        for row in rows
    ]
    return table(["what", *titles], body)


def spread(values: list[float]) -> str:
    """Write the median and, in brackets, minimum and maximum; the larger
    the median, the fewer decimals."""
    digits = sum(abs(values[1]) < limit for limit in (10, 100))
    low, middle, high = (f"{value:,.{digits}f}" for value in values)
    return middle if low == high else f"{middle} ({low}–{high})"


def times(seconds: list[float]) -> str:
    """Write seconds, or milliseconds where they are fewer than one."""
    if seconds[1] >= 1:
        return f"{spread(seconds)} s"
    return f"{spread([1000 * value for value in seconds])} ms"


def shares(values: list[float]) -> str:
    """Write shares as percentages."""
    return f"{spread([100 * value for value in values])} %"


# What a row can know: the title of the column, and how it is written.
COLUMNS = {
    "seconds": ("time", times),
    "ratio": ("times *{}*", spread),
    "exact": ("right to the letter", shares),
    "rounds": ("rounds", str),
}


def made(figures: dict) -> str:
    """Write when, where and with what was measured."""
    run = figures["made"]
    versions = ", ".join(f"{n} {v}" for n, v in run["versions"].items())
    body = [
        ["processor", f"{run['processor']}, one of {run['cores']} cores"],
        ["system", run["system"]],
        ["other work before, as load", f"{run['load']:.2f}"],
        ["the whole run took", f"{run['minutes']:.0f} minutes"],
        ["versions", versions],
    ]
    return table(["measured on", run["date"]], body)


def given(_figures: dict) -> str:
    """Say what each tool was given, and what it records."""
    said = {name: " ".join(t.__doc__.split()) for name, t in TOOLS.items()}
    return "".join(f"- **{name}:** {text}\n" for name, text in said.items())


def slower(figures: dict) -> str:
    """List each comparison in which something else takes less time."""
    lines = [
        line
        for section in figures.values()
        for what, rows in section.items()
        if isinstance(rows, list)
        for line in behind(what, rows)
    ]
    return "".join(f"- {line}\n" for line in lines) or "Nowhere, here.\n"


def behind(what: str, rows: list[dict]) -> list[str]:
    """Say how many times as long ours takes as what is quicker."""
    known = [row for row in rows if "ratio" in row]
    mine = [row for row in known if row["name"].startswith("ours")]
    rest = [r for r in known if r not in mine and r["name"] != "a plain run"]
    return [
        f"{what}: *{my['name']}* takes {ratio:.2f} times as long as "
        f"*{other['name']}*."
        for my in mine
        for other in rest
        if (ratio := my["ratio"][1] / other["ratio"][1]) >= 1.005
    ]


WRITERS = {"made": made, "given": given, "slower": slower}


def main() -> None:
    """Write the page anew."""
    figures = json.loads(FIGURES.read_text("utf8"))
    page = filled(PAGE.read_text("utf8"), figures)
    PAGE.write_text(page, "utf8", newline="\n")


if __name__ == "__main__":
    main()
