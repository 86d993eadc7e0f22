"""Fill in the tables of book/benchmarks.md, from book/benchmarks.json.

A table stands between <!-- its name --> and <!-- end -->: nobody types a
figure.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from benchmarks.tools import TOOLS

BOOK = Path(__file__).parents[1] / "book"
PAGE, FIGURES = BOOK / "benchmarks.md", BOOK / "benchmarks.json"
PLACE = re.compile(r"<!-- (?!end)(\w+) -->\n.*?(?=<!-- end -->)", re.DOTALL)
TRIAL = """
```{warning}
These figures are of a trial with tiny budgets (`QUICK=1 make bench`), which
only shows that everything runs. Do not read anything into them.
```
"""


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
    made = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(row)} |\n" for row in made)


def comparison(rows: list[dict]) -> str:
    """Write what took turns: time, ratio to the first, and what else is
    known of all."""
    good = [row for row in rows if "problem" not in row]
    kinds = [kind for kind in COLUMNS if any(kind in row for row in good)]
    kinds = kinds or ["seconds"]
    if len(good) < 2 and "ratio" in kinds:
        kinds.remove("ratio")
    titles = [COLUMNS[kind][0].format(rows[0]["name"]) for kind in kinds]
    body = [[row["name"], *cells(row, kinds)] for row in rows]
    return table(["what", *titles], body)


def cells(row: dict, kinds: list[str]) -> list[str]:
    """Write the figures of a row; or why there are none, in the first."""
    if "problem" in row:
        why = re.sub(r"[|<>`*_{}]", " ", row["problem"])
        return [why, *[""] * (len(kinds) - 1)]
    return [COLUMNS[k][1](row[k]) if k in row else "" for k in kinds]


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
    found = figures["made"]
    versions = ", ".join(f"{n} {v}" for n, v in found["versions"].items())
    body = [
        ["processor", f"{found['processor']}, one of {found['cores']} cores"],
        ["system", found["system"]],
        ["other work before, as load", f"{found['load']:.2f}"],
        ["the whole run took", f"{found['minutes']:.0f} minutes"],
        ["versions", versions],
    ]
    warning = TRIAL.lstrip() + "\n" if found["trial"] else ""
    return warning + table(["measured on", found["date"]], body)


def given(_figures: dict) -> str:
    """Say what each tool was given, and what it records."""
    said = {name: " ".join(t.__doc__.split()) for name, t in TOOLS.items()}
    return "".join(f"- **{name}:** {text}\n" for name, text in said.items())


def slower(figures: dict) -> str:
    """List each comparison in which something else takes less time."""
    found = []
    for section in figures.values():
        for what, rows in section.items():
            found += behind(what, rows) if isinstance(rows, list) else []
    return "".join(f"- {line}\n" for line in found) or "Nowhere, here.\n"


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
