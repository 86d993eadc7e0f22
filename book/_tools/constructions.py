"""The constructions of the corpus, for a reader of Nepali to check."""

from collections.abc import Callable
from typing import NamedTuple

import fillers


class Construction(NamedTuple):
    """Both patterns, the rule behind them, what fills their slots, and how
    many sentences each core gets at most."""

    name: str
    english: str
    nepali: str
    rule: str
    fillers: Callable[[], fillers.Fillers]
    each: int = 99


CONSTRUCTIONS = (
    Construction(
        "quality",
        "{the} {thing} {is} {quality}.",
        "{the} {thing} {quality} {is} ।",
        "What a thing is like: छ, denied छैन; in the past थियो, denied थिएन."
        " There is no word for *the*.",
        fillers.qualities,
        3,
    ),
    Construction(
        "question",
        "{is} {the} {thing} {quality}?",
        "के {the} {thing} {quality} {is}?",
        "के in front asks for yes or no; the order stays.",
        fillers.questions,
        1,
    ),
    Construction(
        "kind",
        "{this} is a {quality} {thing}.",
        "{this} {quality} {thing} हो ।",
        "What a thing is: हो. The adjective stands before its noun.",
        fillers.kinds,
        2,
    ),
    Construction(
        "name",
        "{this} {is} a {thing}.",
        "{this} {thing} {is} ।",
        "What a thing is: हो, denied होइन; in the past थियो, थिएन."
        " There is no word for *a*.",
        fillers.names,
        3,
    ),
    Construction(
        "belonging",
        "{this} {is} {owner} {thing}.",
        "{this} {owner} {thing} {is} ।",
        "The owner stands before what is owned; a name takes -को.",
        fillers.belongings,
        1,
    ),
    Construction(
        "possession",
        "{who} {has} {thing}.",
        "{who} {thing} {has} ।",
        "There is no verb *have*: with (-सँग) somebody a thing is."
        " The verb agrees with the thing.",
        fillers.possessions,
        2,
    ),
    Construction(
        "feeling",
        "{who} {is} {state}.",
        "{who} {state} {is} ।",
        "How somebody is: छ in the person's form.",
        fillers.feelings,
    ),
    Construction(
        "place",
        "{who} {is} {state}.",
        "{who} {state} {is} ।",
        "Where somebody is: -मा on the place, then छ in the person's form.",
        fillers.places,
        3,
    ),
    Construction(
        "spot",
        "{who} {is} {state}.",
        "{who} {state} {is} ।",
        "*In the* and *on the* are both -मा, written onto the noun.",
        fillers.spots,
    ),
    Construction(
        "food",
        "{food} {is} {spot}.",
        "{food} {spot} {is} ।",
        "Where a thing is: -मा on the place, then छ or थियो.",
        fillers.foods,
    ),
    Construction(
        "whereabouts",
        "{the} {thing} {is} {way}.",
        "{the} {thing} {way} {is} ।",
        "यहाँ, त्यहाँ, बाहिर and their like take no ending.",
        fillers.whereabouts,
        2,
    ),
    Construction(
        "trade",
        "{who} {is} a {trade}.",
        "{who} {trade} {is} ।",
        "Who somebody is: हुँ, हौ, हो; denied होइनँ, होइनौ, होइन.",
        fillers.trades,
    ),
    Construction(
        "deed",
        "{who} {does} {thing}.",
        "{who} {thing} {does} ।",
        "The verb comes last and agrees with who does it. In the past of a"
        " verb that has an object, the one who does it takes -ले.",
        fillers.deeds,
    ),
    Construction(
        "move",
        "{who} {does} {way}.",
        "{who} {way} {does} ।",
        "A verb without an object: no -ले in the past.",
        fillers.moves,
    ),
)
