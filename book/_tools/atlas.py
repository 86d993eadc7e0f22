"""Measure the models of the atlas, and the book's own beside them: `make
atlas`, or with names, those alone. It needs transformers; the book is built
from what it writes.
"""

import json
import sys
import tomllib
from dataclasses import dataclass
from functools import partial
from typing import Any

from packages import BOOK
from sizes import build_preset, own_sizes

from shapewatch.cards.card import measure
from shapewatch.cards.configs import Plan, load_transformers
from tformer_lite.model.config import Config, tiny_translator
from tformer_lite.model.models import EncoderDecoder

MODELS = BOOK / "_tools" / "atlas.toml"
ATLAS = BOOK / "_static" / "atlas.json"
OWN = "translator"  # the book's model, which all others differ from


@dataclass(frozen=True)
class OwnPlan:
    """How the book's translator is built, as `Plan` says it of others."""

    config: Config = tiny_translator
    kind: Any = EncoderDecoder

    @property
    def dims(self) -> dict[str, int | str]:
        """Its sizes in chapter 12."""
        own = own_sizes("tiny_translator", self.config)
        own.pop("n_layers")
        return {**own, "C": "H*D"}

    def build(self, C: int, **sizes: int) -> Any:
        """Build it at some sizes."""
        layers = self.config.n_layers
        return build_preset(self.config, **sizes, n_layers=layers)


def measured(name: str, model: dict[str, Any]) -> dict[str, Any]:
    """Measure a model of the atlas, and say what is published of it."""
    kind = getattr(load_transformers(), model["model"])
    card = measure(Plan(kind, model["config"]))
    published = {x: model[x] for x in model if x not in ("model", "config")}
    return published | card.data()


def main(names: list[str]) -> None:
    """Measure all models, or some, and keep what is known of the others."""
    models = tomllib.loads(MODELS.read_text("utf8"))
    known = json.loads(ATLAS.read_text("utf8")) if names else {}
    found = {OWN: known.get(OWN) or measure(OwnPlan()).data()}
    for name, model in models.items():
        again = not names or name in names or name not in known
        found[name] = measured(name, model) if again else known[name]
        print(name, flush=True)
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    ATLAS.write_text(text + "\n", "utf8")


if __name__ == "__main__":
    main(sys.argv[1:])
