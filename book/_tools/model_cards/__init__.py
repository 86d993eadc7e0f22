"""Cards of models of transformers, built from their configurations without
weights: `read_plan` finds what to build, `measure` gives the `Card`."""

import tomllib
from pathlib import Path

HERE = Path(__file__).parent
NAMES = tomllib.loads((HERE / "names.toml").read_text("utf8"))
SIZES = NAMES["sizes"]
