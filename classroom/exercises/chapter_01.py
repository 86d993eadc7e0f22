"""Exercises on text and ids."""

from collections.abc import Iterable
from unicodedata import category, name

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from tformer_lite.text.tokenizers import EOS, PAD, SOS, UNK

# Nepali words, each with a sign of another kind than the next.
WORDS = ["थिएन", "नेपाली", "विद्यालय", "काठमाडौँ", "दुःख", "हिमाल", "सुन्दर"]


READS_AND_SAYS = {
    "shift": {
        "next": "",
        "none": "the labels are what is read: each label should be the next "
        "input, so [SOS] is not among them",
        "exchanged": "the two are exchanged: what is read begins with [SOS], "
        "the labels end with [EOS]",
    },
    "ends": {
        "one": "",
        "both": "[EOS] is in what is read, too: it is only said",
        "none": "[EOS] is missing from the labels: the model must learn to "
        "stop",
        "last": "[EOS] stands at the end of the padding, and should follow "
        "the last word",
    },
    "fill": {
        "pad": "",
        "zero": "filled up with 0, which is [UNK]: the id of [PAD] is 1",
        "before": "[PAD] comes before the words, and should come after",
    },
}


class ReadsAndSays(Exercise):
    """Lay a sentence out as what is read and what should be said."""

    chapter, kind, minutes, level = 1, "line", 7, 1
    title = "What is read, and what should be said"
    teaches = "the shift between input and labels, and padding"
    axes = "ids: N, length: ->"
    switches = READS_AND_SAYS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Rows with room for padding, and one without."""
        for i in range(3):
            n = 3 + draw.below(6)
            room = 1 if i == 2 else 3 + draw.below(3)
            about = "" if i < 2 else "a sentence may fill the row: no [PAD]"
            ids = 4 + draw.tags(90)[:n]
            sizes = {"N": n, "T": n + room}
            yield Case((ids, n + room), sizes, about)

    def answer(self, case: Case, shift: str, ends: str, fill: str) -> tuple:
        """Put each end where the switches say, then fill up."""
        ids, length = case.args
        words = ids.tolist()
        end = [EOS] if ends in ("one", "both") else []
        reads = [SOS, *words] + ([EOS] if ends == "both" else [])
        says = reads if shift == "none" else words + end
        rows = [filled(row[:length], length, fill) for row in (reads, says)]
        if ends == "last":
            rows[1][-1] = EOS
        if shift == "exchanged":
            rows.reverse()
        return tuple(torch.tensor(row) for row in rows)


def filled(row: list[int], length: int, fill: str) -> list[int]:
    """Fill a row up on one side."""
    more = [UNK if fill == "zero" else PAD] * (length - len(row))
    return more + row if fill == "before" else row + more


class LastWord(Exercise):
    """Say what a row that is too short hides from the model."""

    chapter, kind, minutes, level = 1, "explain", 5, 1
    title = "Cut at four places"
    teaches = "what a model never learns from labels that were cut off"
    rubric = (
        "which label disappears",
        "what the model then never learns, and how its translations show it",
        "why no shape tells",
    )


LETTERS = {
    "marks": {
        "all": "",
        "beside": "only marks of the category Mc were joined to their letter: "
        "those above and below the line are Mn",
        "vowels": "only vowel signs were joined to their letter: other marks, "
        "as the dot or the stroke below, belong to it as well",
        "none": "every code point stands alone: a mark belongs to the letter "
        "before it",
    },
    "kept": {
        "signs": "",
        "bare": "the marks were left out: they should stay with their letters",
    },
}


class Letters(Exercise):
    """Cut a word into letters with their signs."""

    chapter, kind, minutes, level = 1, "line", 8, 2
    title = "Letters with their signs"
    teaches = "code points and marks"
    axes = "word: ->"
    switches = LETTERS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Words with marks of both kinds, in any order; edges."""
        words = draw.random.sample(WORDS, 4)
        for word in ("दुःखी", *words):
            yield Case((word,))
        about = "other scripts have marks as well: ask for the category"
        yield Case(("cafe\u0301",), about=about)
        yield Case(("",), about="a word may be empty: then there is no letter")

    def answer(self, case: Case, marks: str, kept: str) -> tuple:
        """Begin a new letter at what is no mark, or has none before."""
        found: list[str] = []
        for sign in case.args[0]:
            if kept == "bare" and category(sign)[0] == "M":
                continue
            if found and is_mark(sign, marks):
                found[-1] += sign
            else:
                found.append(sign)
        return tuple(found)


def is_mark(sign: str, marks: str) -> bool:
    """Tell whether a code point is taken for a mark."""
    return {
        "all": category(sign)[0] == "M",
        "beside": category(sign) == "Mc",
        "vowels": "VOWEL SIGN" in name(sign),
        "none": False,
    }[marks]


LABEL_IS_INPUT = {
    "line": {
        "next": "",
        "diagonal": "the line lies on the diagonal, as if the labels were the "
        "input: they are the words and [EOS]",
        "turned": "rows and columns are exchanged: a row for each label, a "
        "column for each input",
        "nothing": "nothing is drawn yet: write 1 where the two are equal",
    },
    "twice": {
        "both": "",
        "once": "छिटो is read at two places, and each label छिटो is equal to "
        "both",
    },
    "padding": {
        "equal": "",
        "left out": "[PAD] is equal to [PAD], too",
    },
    "end": {
        "apart": "",
        "mixed": "[EOS] and [SOS] are two ids: the label [EOS] is read "
        "nowhere",
    },
}


class LabelIsInput(Exercise):
    """Draw where a label is equal to an input."""

    chapter, kind, minutes, level = 1, "mask", 5, 1
    title = "Draw who is whose label"
    teaches = "labels beside inputs, as a matrix of True and False"
    axes = "-> T T"
    switches = LABEL_IS_INPUT

    def answer(
        self, case: Case, line: str, twice: str, padding: str, end: str
    ) -> Tensor:
        """Compare the two rows; छिटो is 4 in them, आऊ 5, the danda 6."""
        again = {"both": 4, "once": 7}[twice]
        stop = {"apart": EOS, "mixed": SOS}[end]
        last = {"equal": PAD, "left out": UNK}[padding]
        reads = torch.tensor([SOS, 4, again, 5, 6, PAD])
        says = torch.tensor([4, again, 5, 6, stop, last])
        if line == "nothing":
            return torch.zeros(6, 6).bool()
        equal = (reads if line == "diagonal" else says)[:, None] == reads
        return equal.mT if line == "turned" else equal
