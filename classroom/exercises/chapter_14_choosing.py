"""Exercises on generation: choose the next token."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from classroom.cases import Case, Draw
from classroom.exercise import Exercise

MIN_P = {
    "order": {
        "cut first": "",
        "heat first": "the temperature came before the cut: what stays "
        "is decided by the chances at temperature 1",
    },
    "threshold": {
        "of the likeliest": "",
        "alone": "the threshold is the share itself: it should be the "
        "share of the likeliest word's chance",
        "of the batch": "each row has a likeliest word of its own: the "
        "largest chance of the whole batch was taken",
        "of the logits": "logits were compared: the threshold is a share "
        "of the largest chance",
        "added up": "the likeliest words were kept until their chances "
        "add up, which is top-p",
    },
    "side": {
        "likely": "",
        "unlikely": "the likely words were cut off, and the unlikely "
        "ones kept",
    },
    "sum": {
        "one": "",
        "less": "what stays is not divided by its sum: a row should sum to 1",
    },
    "temperature": {
        "divides": "",
        "multiplies": "the logits are multiplied by the temperature, and "
        "should be divided by it",
        "none": "the temperature is not used",
        "chances": "the chances were divided by the temperature, and the "
        "logits should be",
    },
}


def sure_rows(draw: Draw, share: float, heat: float, about: str = "") -> Case:
    """Draw rows of which some are surer than others."""
    sizes = draw.sizes("B") | {"V": 19}
    logits = draw.numbers(sizes["B"], 19, scale=1.5)
    logits[0] *= 2
    logits[1:, 0] += 2  # all rows have some likely words
    return Case((logits, share, heat), sizes, about)


class MinP(Exercise):
    """Keep the words that are likely beside the likeliest."""

    chapter, kind, minutes, level = 14, "line", 15, 2
    title = "A cut that knows how sure the model is"
    teaches = "min-p, and what comes before the temperature"
    axes = "logits: B V, share:, temperature: -> B V"
    assignable = True
    switches = MIN_P

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Cold and hot, cuts at the edge, and a temperature near 0."""
        for share, heat in ((0.2, 0.6), (0.1, 2.0), (0.3, 1.5)):
            yield sure_rows(draw, share, heat)
        about = "with a share of 1 the likeliest word itself has to stay"
        yield sure_rows(draw, 1.0, 1.0, about)
        about = "a temperature near 0 overflows: take torch.softmax"
        yield sure_rows(draw, 0.01, 0.002, about)
        about = "logits that are all far below 0 bring cut words back: hide "
        about += "them with -∞"
        low = sure_rows(draw, 0.2, 1.0, about)
        low.args[0].sub_(200)
        yield low

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Find the threshold, cut, and heat, as switched."""
        logits, share, heat = case.args
        heats = {"none": logits, "multiplies": logits * heat}
        heats["chances"] = logits.softmax(-1) / heat
        hot = heats.get(choice["temperature"], logits / heat)
        judged = {"heat first": hot}.get(choice["order"], logits)
        given = judged.softmax(-1)
        tops = {"alone": torch.tensor(1.0), "of the batch": given.max()}
        top = tops.get(choice["threshold"], given.amax(-1, True))
        keep = given >= share * top
        if choice["threshold"] == "of the logits":
            keep = judged >= share * judged.amax(-1, True)
        if choice["threshold"] == "added up":
            before = given.sort(-1, descending=True)
            sums = before.values.cumsum(-1) - before.values
            keep = (sums < share).gather(-1, before.indices.argsort(-1))
        keep = {"unlikely": ~keep}.get(choice["side"], keep)
        left = {"less": hot.softmax(-1) * keep}
        return left.get(
            choice["sum"], hot.masked_fill(~keep, -torch.inf).softmax(-1)
        )


REPETITION_PENALTY = {
    "positive": {
        "divided": "",
        "multiplied": "positive logits are multiplied, and become "
        "likelier: divide them",
        "left": "positive logits are left as they are: divide them",
    },
    "negative": {
        "multiplied": "",
        "divided": "negative logits are divided, and become likelier: "
        "multiply them",
        "left": "negative logits are left as they are: multiply them",
    },
    "often": {
        "once": "",
        "each time": "a word that stands in a row twice is punished "
        "twice, and should be punished once",
    },
    "whose": {
        "own": "",
        "all": "each row has written its own words: those of the other "
        "rows were punished too",
        "unwritten": "the words that are not written yet were punished",
        "last": "only the last token of a row was punished",
    },
    "padding": {
        "spared": "",
        "punished": "[PAD] is punished, and should be left as it is",
    },
    "how": {
        "factor": "",
        "less": "the penalty is subtracted, and should be a factor",
    },
}


def repeating_rows(
    draw: Draw,
    sizes: dict[str, int],
    penalty: float,
    about: str = "",
) -> Case:
    """Draw ids of which some come twice, and logits of both signs."""
    b, t, v = (sizes[a] for a in "BTV")
    ids, pad = draw.ids(b, t, below=v), draw.below(v)
    ids[:, 1] = ids[:, 0]
    ids[0, :3] = torch.tensor([0, 0, pad])
    ids[1, :3] = 1
    logits = draw.numbers(b, v)
    logits[0, 0], logits[1, 1] = 1.5, -1.5
    return Case((logits, ids, penalty, pad), sizes, about)


class RepetitionPenalty(Exercise):
    """Make words that are written already less likely."""

    chapter, kind, minutes, level = 14, "line", 15, 2
    title = "Not that word again"
    teaches = "CTRL's penalty on words that are written already"
    axes = "logits: B V, ids: B T, penalty:, pad: -> B V"
    assignable = True
    switches = REPETITION_PENALTY

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Rows with words that come twice and with padding."""
        for penalty in (1.3, 2.0):
            sizes = draw.sizes("B T") | {"V": 23}
            yield repeating_rows(draw, sizes, penalty)
        alone = repeating_rows(
            draw, sizes, 1.5, "a row of padding alone fails"
        )
        alone.args[1][0] = alone.args[3]
        yield alone

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Count each row's words, and punish them, as switched."""
        logits, ids, penalty, pad = case.args
        read = {"last": ids[:, -1:]}.get(choice["whose"], ids)
        counts = nn.functional.one_hot(read, logits.shape[-1]).sum(1)
        counts = {"all": counts.sum(0).repeat(len(ids), 1)}.get(
            choice["whose"], counts
        )
        if choice["padding"] == "spared":
            counts[:, pad] = 0
        if choice["often"] == "once":
            counts = counts.clamp(max=1)
        if choice["whose"] == "unwritten":
            counts = (counts == 0).long()
        if choice["how"] == "less":
            return logits - penalty * counts
        powers = {"divided": -1, "multiplied": 1, "left": 0}
        above, below = (powers[choice[x]] for x in ("positive", "negative"))
        power = torch.where(logits > 0, above, below)
        return logits * penalty ** (power * counts)
