"""Measure the models of the atlas, and the book's own beside them, and write
what the book is built from: `make atlas`.

usage: atlas.py [moved]

`moved` writes nothing: it says what a newer transformers makes different, and
fails if something is.
"""

import json
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from model_cards.card import card_data, measure
from model_cards.configs import Plan, load_transformers
from packages import BOOK
from sizes import build_preset, own_sizes

from tformer_lite.model.config import Config, tiny_translator
from tformer_lite.model.models import EncoderDecoder

MODELS = BOOK / "_tools" / "atlas.toml"
ATLAS = BOOK / "_static" / "atlas.json"
TRANSLATOR = "translator"  # the book's model, which all others differ from


@dataclass(frozen=True)
class OwnPlan:
    """How the book's translator is built, as `Plan` says it of others."""

    config: Config = tiny_translator
    kind: Any = EncoderDecoder

    @property
    def dims(self) -> dict[str, int | str]:
        """Its sizes in chapter 12."""
        dims = own_sizes("tiny_translator", self.config)
        dims.pop("n_layers")
        return {**dims, "C": "H*D"}

    def build(self, C: int, **sizes: int) -> Any:
        """Build it at some sizes."""
        layers = self.config.n_layers
        return build_preset(self.config, **sizes, n_layers=layers)


def card_of(model: dict[str, Any]) -> dict[str, Any]:
    """Measure a model of the atlas, and say what is published of it."""
    kind = getattr(load_transformers(), model["model"])
    card = measure(Plan(kind, model["config"]))
    left_out = "model", "config", "without", "idle", "active"
    published = {key: model[key] for key in model if key not in left_out}
    published["published active"] = model["active"]
    return published | card_data(card)


def main(words: list[str]) -> str | None:
    """Measure all models, and write their cards, or say what is new."""
    cards = {TRANSLATOR: card_data(measure(OwnPlan()))}
    for name, model in tomllib.loads(MODELS.read_text("utf8")).items():
        print(name, flush=True)
        cards[name] = card_of(model)
    text = json.dumps(cards, ensure_ascii=False, separators=(",", ":"))
    if words == ["moved"]:
        stored = json.loads(ATLAS.read_text("utf8"))
        return "\n".join(differences(stored, json.loads(text))) or None
    ATLAS.write_text(f"{text}\n", "utf8")
    return None


def differences(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Say of which model what is no longer as it was stored."""
    for name, card in now.items():
        for key, data in card.items():
            if data != (old := before.get(name, {}).get(key)):
                yield f"{name}: {key}: {old!s:.300} is now {data!s:.300}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
