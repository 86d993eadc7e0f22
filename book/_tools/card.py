"""Print the card of a model of transformers, built from its configuration
without weights: its sizes, its parts, its modules, and what it costs, as
formulas.

usage: card.py CONFIG [PAGE]

CONFIG is a config.json. With PAGE, say card.html, the card is written there as
a page. It takes some seconds; a hundred layers of experts, minutes.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # where shapewatch stands
from model_cards.card import card_data, card_text, measure
from model_cards.configs import read_plan
from model_cards.page import page_html


def main(words: list[str]) -> str | None:
    """Print or write a card, or return what is wrong in a line."""
    if len(words) not in (1, 2) or words[0].startswith("-"):
        return __doc__
    config, *pages = words
    try:
        card = measure(read_plan(config))
    except Exception as error:  # a configuration may hold anything
        says = " ".join(str(error).split())
        return f"{config} gives no card: {type(error).__name__}: {says:.300}"
    for page in pages:
        Path(page).write_text(page_html(card_data(card)), "utf8")
    if not pages:
        print(card_text(card))
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
