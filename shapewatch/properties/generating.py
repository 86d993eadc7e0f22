"""Generation: a model's own method goes on as its full runs say."""

import torch
from torch import Tensor

from shapewatch.properties.finding import (
    BROKEN,
    UNUSUAL,
    Verdict,
    check,
)
from shapewatch.properties.results import picked
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
)
from shapewatch.properties.writing import (
    END,
    NEW,
    Text,
    Way,
    drawn,
    way_of,
    written,
)

WARM = 2.0  # a temperature that is not 1
LOOK = (
    "Look at which row is read, at what is handed on, and at what a cache "
    "has read before."
)
ROW = "row of a full run has."
Fault = tuple[str, str]


@check
def generation(subject: Subject) -> Verdict:
    """See whether the model's method that writes words, such as `generate`,
    keeps its prompt, and goes on with the likeliest word after all that is
    there, as a full run has it; and whether it divides by a temperature,
    keeps the best `top_k`, and ends where it should.

    Where it draws at random, the likeliest word is taken.
    """
    way = way_of(subject)
    text = written(subject, way)
    for ask in (wrong_prompt, wrong_word, wrong_heat, wrong_top, wrong_end):
        for says, level in filter(None, [ask(subject, way, text)]):
            return False, f"{way.name}: {says}", text.words[None], level
    says = f"{way.name} goes on with the likeliest words of full runs."
    return True, says, text.words[None]


def wrong_prompt(subject: Subject, way: Way, text: Text) -> Fault | None:
    """Say that a prompt is not kept, or more or fewer words are new."""
    prompt, words = way.prompt[0].cpu(), text.words
    k = len(prompt)
    kept = words[:k].equal(prompt)
    if not kept and k > 1 and len(words) not in (k, NEW):
        says = f"the prompt {prompt.tolist()} is not kept: it gives "
        return f"{says}{words.tolist()}.", BROKEN
    wanted = [x for name, x in way.more.items() if "new" in name]
    count = len(words) - k * kept
    if kept and wanted and count != wanted[0] and not way.ends:
        return f"asked for {wanted[0]} new words, it gives {count}.", UNUSUAL
    return None


def wrong_word(subject: Subject, way: Way, text: Text) -> Fault | None:
    """Say which word is not the likeliest one."""
    read, unlike = way.prompt, None
    new = way.new(text.words)
    for n, word in enumerate(new[:NEW]):
        row = last_row(subject, way, read)
        best = int(row.argmax())
        if row[best] - row[word] > 1e-3 * row.std():
            where = f"{n} more" if n else "the prompt"
            says = f"after {where}, it goes on with {word}, where the last "
            says += f"row of a full run has {best} as the likeliest. {LOOK}"
            return says, BROKEN
        if len(text.drawn) == len(new) and not alike(text.drawn[n], row):
            unlike = unlike or (
                f"word {n + 1} is chosen by other numbers than the last "
                f"{ROW} {LOOK}",
                UNUSUAL,
            )
        read = torch.cat([read, read.new_tensor([[word]])], 1)
    return unlike


def alike(chosen: Tensor, row: Tensor) -> bool:
    """Whether a word was chosen by these logits (V): by a multiple of them,
    or by probabilities, apart from words that are left out."""
    x = chosen.flatten().float()
    if len(x) != len(row):
        return True
    if (x >= 0).all():
        x = x.log()
    finite = x.isfinite() & row.isfinite()
    x, row = (y[finite] - y[finite].mean() for y in (x, row))
    apart = x / x.norm() - row / row.norm()
    return len(x) < 3 or bool(apart.norm() < 1e-2)


def last_row(subject: Subject, way: Way, read: Tensor) -> Tensor:
    """Give the logits after these words, of a full run: (V)."""

    def full(*given: Tensor) -> Tensor:
        return picked(subject.pick, subject.model(*given), given[-1])

    given = (*way.given[: subject.last], read)
    try:
        return subject.call(full, given).float()[0, -1].cpu()
    except FailedError as error:
        says = f"A full run of {read.shape[1]} words fails: {error}"
        raise NotJudgedError(says) from error


def wrong_heat(subject: Subject, way: Way, _: Text) -> Fault | None:
    """Say that a temperature does not divide the logits."""
    heats = [x for x in way.asked if x.startswith("temp")]
    if not heats:
        return None
    made = [drawn(subject, way, **{heats[0]: x}) for x in (1.0, WARM)]
    cold, warm = (x if x is None else x.log() for x in made)
    if cold is None or warm is None or cold.shape != warm.shape:
        return None
    if not alike(cold.exp(), last_row(subject, way, way.prompt)):
        says = f"the first word is drawn by other numbers than the last {ROW}"
        return f"{says} {LOOK}", UNUSUAL
    both = cold.isfinite() & warm.isfinite()
    cold, warm = (x[both] - x[both].max() for x in (cold, warm))
    times = (warm.sum() / cold.sum()).item()
    if not cold.any() or abs(times - 1 / WARM) < 0.05:
        return None
    says = (
        f"with {heats[0]}={WARM:g}, logits are {times:.2f} times as far apart "
        f"as with 1: a temperature divides them, which makes {1 / WARM:.2f}."
    )
    return says, BROKEN


def wrong_top(subject: Subject, way: Way, _: Text) -> Fault | None:
    """Say that top_k leaves other words than the best."""
    if "top_k" not in way.asked:
        return None
    every, some = drawn(subject, way), drawn(subject, way, top_k=2)
    if every is None or some is None or every.shape != some.shape:
        return None
    best, kept = {*every.topk(2).indices.tolist()}, some.nonzero()[:, 0]
    if {*kept.tolist()} == best:
        return None
    says = f"with top_k=2, it draws from {len(kept)} words, not the best 2."
    return says, BROKEN


def wrong_end(subject: Subject, way: Way, text: Text) -> Fault | None:
    """Say that it goes on after the word that ends it."""
    key, new = next(filter(END.search, way.asked), ""), way.new(text.words)
    if not key or len(new) < NEW or new[0] == new[1] or new[1] == new[2]:
        return None
    other = way.new(written(subject, way, **{key: new[1]}).words)
    if other[: len(new)] != new:
        return None
    return f"it goes on after the word that is given as {key}.", BROKEN
