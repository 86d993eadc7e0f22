"""The page on how shapes are measured: its code prints what it says."""

import os
import re
import subprocess
import sys

from tests.helpers.project import ROOT

TEXT = (ROOT / "book" / "measured.md").read_text("utf8")


def blocks(language: str) -> list[str]:
    """The page's blocks of a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_the_code_of_the_page_prints_what_stands_below_it(tmp_path):
    code = tmp_path / "page.py"
    code.write_text("\n\n".join(blocks("python")), "utf8")
    done = subprocess.run(
        [sys.executable, code],
        capture_output=True,
        cwd=ROOT,
        encoding="utf8",
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
    )
    assert done.stderr == ""
    assert len(blocks("text")) == 5
    assert done.stdout == "".join(blocks("text"))
