"""The command `card`: a model of transformers, from its configuration."""

from argparse import Namespace

from shapewatch.cards.card import measure
from shapewatch.cards.configs import read_plan
from shapewatch.cards.facts import card_data, card_text
from shapewatch.cards.page import page_html
from shapewatch.commands.checking import write_text
from shapewatch.properties.subject import error_line


def print_card(args: Namespace) -> None:
    """Print the card of a model of transformers, built from its configuration
    without weights: its sizes, its parts, its modules, and what it costs, as
    formulas. It takes some seconds; a hundred layers of experts, minutes."""
    try:
        card = measure(read_plan(args.config))
    except (AttributeError, KeyError, RecursionError, TypeError) as error:
        says = f"{args.config} describes no model: {error_line(error)}"
        raise ValueError(says) from error
    if args.html:
        write_text(args.html, page_html(card_data(card)), "Card")
    else:
        print(card_text(card))
