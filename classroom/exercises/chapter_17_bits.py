"""An exercise on the character model: a loss, and a packed file."""

import math
import zlib
from collections.abc import Iterable

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from classroom.exercises.chapter_17 import LINES, MIXED

BITS = {
    "bits": {
        "eight": "",
        "bytes": "a byte has eight bits",
    },
    "each": {
        "character": "",
        "byte": "the packed bits were divided by the bytes of the text: the "
        "loss is paid for each character, and some take three bytes",
        "text": "that is for the whole text: a loss is the mean over its "
        "characters",
    },
    "logarithm": {
        "nats": "",
        "bits": "these are bits: a loss is in nats, and a bit is ln 2 of them",
        "divided": "divided by ln 2: that turns nats into bits, and the "
        "other way round is asked for",
        "ten": "multiplied by ln 10: a bit is ln 2 nats",
    },
    "packed": {
        "zlib": "",
        "plain": "the text was not packed: these are its bytes as they are",
    },
}


class Bits(Exercise):
    """The loss at which a model is as good as a packed file."""

    chapter, kind, minutes, level = 17, "ablation", 10, 1
    title = "Bits"
    teaches = "bits and nats: a loss compared with a packed file"
    axes = "text: ->"
    switches = BITS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Nepali, and two languages; then English, and one character."""
        english = "an English letter is a byte, and a Nepali one is three"
        short = "a packed text may be longer than the text itself"
        for about in "", "", english, short:
            line = LINES[draw.below(len(LINES))] + MIXED
            line = "mouth is not empty; " if about == english else line
            text = line * (20 + draw.below(20))
            yield Case((text[:1] if about == short else text,), {}, about)

    def answer(self, case: Case, **choice: str) -> float:
        """Pack, spread over the characters, and change the unit."""
        (text,) = case.args
        data = text.encode()
        data = data if choice["packed"] == "plain" else zlib.compress(data)
        bits = len(data) * (8 if choice["bits"] == "eight" else 1)
        count = {"byte": len(text.encode()), "text": 1}
        scales = {"bits": 1, "divided": 1 / math.log(2), "ten": math.log(10)}
        scale = scales.get(choice["logarithm"], math.log(2))
        return bits / count.get(choice["each"], len(text)) * scale
