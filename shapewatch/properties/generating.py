"""Generation: a model's own method goes on as its full runs say."""

import re
from collections.abc import Mapping
from contextlib import suppress
from inspect import Parameter, getsourcefile, isfunction, signature, unwrap
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from shapewatch.properties.caching import first_words, whole_output
from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    find_output,
)
from shapewatch.tracing.record.state import SITE_PACKAGES

METHODS = "generate", "greedy", "greedy_decode", "sample", "complete"
COUNTS = "max_new_tokens", "max_length", "max_len", "n_tokens", "n", "steps"
END = re.compile("^(eos|end|stop)(_?(id|idx|tok|word)[a-z_]*)?$")
SEARCH = re.compile("beam|penal|repe|ngram")  # not the likeliest word
NEW_WORDS = 4  # that are asked for, at most
WARM = 2.0  # a temperature that is not 1
LOOK = (
    "Look at which row is read, at what is handed on, and at what a cache "
    "has read before."
)
Fault = tuple[str, str]


class ChosenWords(TorchFunctionMode):
    """Take the likeliest word where one is drawn; keep what it is of."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Tensor] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if args and name in ("multinomial", "argmax"):
            x = args[0].detach()
            self.rows.append(x.reshape(-1, x.shape[-1])[-1].float().cpu())
        made = function(*args, **(kwargs or {}))
        if name == "multinomial" and made.shape[-1] == 1:
            return args[0].argmax(-1, keepdim=True)
        return made


class Text(NamedTuple):
    """What was written: the words of its row, (L), the new ones among them,
    and the numbers that each of these was chosen by, where that is known."""

    words: Tensor
    new: list[int]
    rows: list[Tensor]


class Writer(NamedTuple):
    """A method that writes: its name and parameters, the sequences that it is
    given, (1, T) each, by name, how many new words it is asked for, as what,
    and the ids that end a text."""

    name: str
    asked: Mapping[str, Parameter]
    given: dict[str, Tensor]
    count: int
    number: dict[str, int]
    ends: set[int]

    @property
    def prompt(self) -> Tensor:
        """The words that it should go on from: (1, T)."""
        return [*self.given.values()][-1]


@check
def generation(subject: Subject) -> Verdict:
    """See whether the model's method that writes words, such as `generate`,
    keeps its prompt, and goes on with the likeliest word after all that is
    there, as a full run has it; and whether it divides by a temperature,
    keeps the best `top_k`, and ends where it should.

    Only a method that takes the model's sequences and a number of words is
    asked. Where it draws at random, the likeliest word is taken.
    """
    writer = writer_of(subject)
    try:
        text = text_of(subject, writer)
        again = text_of(subject, writer, seed=1)
    except FailedError as error:
        says = f"{writer.name} fails, as it is called here: {error}"
        raise NotJudgedError(says) from error
    if text.new != again.new or not text.new:
        says = f"{writer.name} draws words in a way of its own, or none."
        raise NotJudgedError(says)
    for ask in (wrong_prompt, wrong_word, wrong_heat, wrong_top, wrong_end):
        with suppress(FailedError):  # as where an option is of another kind
            if fault := ask(subject, writer, text):
                says = f"{writer.name}: {fault[0]}"
                return False, says, text.words[None], fault[1]
    says = f"{writer.name} goes on with the likeliest words of full runs."
    return True, says, text.words[None]


def writer_of(subject: Subject) -> Writer:
    """Find the method that writes, and how to call it; NotJudgedError."""
    kind = type(subject.model)
    methods = (x for x in METHODS if isfunction(getattr(kind, x, None)))
    name = next(methods, "")
    if not name:
        raise NotJudgedError("The model has no method that writes words.")
    method = getattr(subject.model, name)
    if SITE_PACKAGES in str(getsourcefile(unwrap(method))):
        raise NotJudgedError(f"Its {name} is a library's.")
    asked, rows = signature(method).parameters, first_words(subject)
    some = (x for x, p in asked.items() if p.default is Parameter.empty)
    needed = [x for x in some if asked[x].kind not in (2, 4)]  # *args
    number = next((x for x in COUNTS if x in asked), "")
    names = [x for x in needed if x != number]
    if not number or len(names) < len(rows) or any(map(SEARCH.search, asked)):
        raise NotJudgedError(f"Nobody knows how to call {name}.")
    if names[len(rows) :]:
        raise NotJudgedError(f"{name} asks for {names[len(rows)]}.")
    *rest, last = rows
    if last.is_floating_point() or last.shape[1] < 2:
        raise NotJudgedError("The inputs are no words, or one alone.")
    prompt = last[:, : last.shape[1] // 2]
    count = min(NEW_WORDS, last.shape[1] - prompt.shape[1])
    total = count + prompt.shape[1] * ("len" in number)
    ends = ids_of_end(subject, asked)
    given = dict(zip(names, [*rest, prompt]))
    return Writer(name, asked, given, count, {number: total}, ends)


def ids_of_end(subject: Subject, asked: Mapping[str, Parameter]) -> set[int]:
    """Find the ids that end a text: defaults, what the model has, padding."""
    known = {name: one.default for name, one in asked.items()}
    for held in (getattr(subject.model, "config", None), subject.model):
        known |= getattr(held, "__dict__", {})
    found = [x for name, x in known.items() if END.search(name)]
    return {x for x in (*found, subject.ids[0]) if isinstance(x, int)}


def text_of(
    subject: Subject, writer: Writer, seed: int = 0, **other: Any
) -> Text:
    """Let a method write, after another text; FailedError if it fails."""
    mode = ChosenWords()

    def ask(*given: Tensor) -> Tensor:
        method = getattr(subject.model, writer.name)
        before = [x.flip(1) for x in given]
        with mode:
            for every in (before, given):
                mode.rows.clear()
                named = dict(zip(writer.given, every))
                made = method(**named, **writer.number, **other)
        ids = torch.tensor(made) if isinstance(made, list) else made
        return find_output(ids)

    given = tuple(x.clone() for x in writer.given.values())
    made = subject.call(ask, given, seed).cpu()
    if made.is_floating_point() or made.ndim not in (1, 2):
        raise FailedError("it gives no ids")
    words, prompt = made.reshape(-1, made.shape[-1])[0], writer.prompt[0].cpu()
    kept = words[: len(prompt)].equal(prompt)
    new = words[len(prompt) * kept :].tolist()
    ended = [n for n, x in enumerate(new, 1) if x in writer.ends]
    rows = mode.rows if len(mode.rows) == len(new) else []
    return Text(words, new[: ended[0] if ended else None], rows)


def wrong_prompt(subject: Subject, writer: Writer, text: Text) -> Fault | None:
    """Say that a prompt is neither kept nor left out."""
    prompt, words = writer.prompt[0].cpu(), text.words
    kept = words[: len(prompt)].equal(prompt)
    if kept or writer.count not in writer.number.values():
        return None
    if len(prompt) < 2 or len(words) <= writer.count:
        return None
    says = f"the prompt {prompt.tolist()} is not kept: it gives "
    return f"{says}{words.tolist()}.", BROKEN


def wrong_word(subject: Subject, writer: Writer, text: Text) -> Fault | None:
    """Say which word is not the likeliest one that may be chosen."""
    read, unlike = writer.prompt, None
    for n, word in enumerate(text.new[: writer.count]):
        row, chosen = last_logits(subject, writer, read), text.rows[n : n + 1]
        if word >= len(row):
            raise NotJudgedError("The outputs are no logits of words.")
        if chosen and len(chosen[0]) == len(row):  # some may be ruled out
            none = (chosen[0] == 0) | chosen[0].isinf()
            row = row.masked_fill(none, -torch.inf)
        best = int(row.argmax())
        if row[best] - row[word] > 1e-3 * row[row.isfinite()].std():
            where = f"{n} more" if n else "the prompt"
            says = f"after {where}, it goes on with {word}, where the last "
            says += f"row of a full run has {best} as the likeliest. {LOOK}"
            return says, BROKEN
        if chosen and not unlike and not is_softmax_of(chosen[0], row):
            says = f"word {n + 1} is chosen by other numbers than the last "
            unlike = f"{says}row of a full run has. {LOOK}", UNUSUAL
        read = torch.cat([read, read.new_tensor([[word]])], 1)
    return unlike


def last_logits(subject: Subject, writer: Writer, read: Tensor) -> Tensor:
    """Give the logits after these words, of a full run: (V)."""
    rest = [*writer.given.values()][:-1]
    row = whole_output(subject, (*rest, read))[0, -1].float().cpu()
    if row.ndim != 1:
        raise NotJudgedError("The outputs are no logits of words.")
    return row


def is_softmax_of(chosen: Tensor, row: Tensor) -> bool:
    """Whether probabilities are a softmax of these logits (V) at some
    temperature, of all or of the best; what are none are not judged."""
    if (chosen < 0).any() or abs(chosen.sum() - 1) > 1e-3:
        return True
    x = chosen[chosen > 0].log().sort().values
    y = row[row.isfinite()].sort().values[-len(x) :]
    if len(x) < 3 or len(x) != len(y):
        return True
    x, y = x - x.mean(), y - y.mean()
    return bool((x / x.norm() - y / y.norm()).norm() < 1e-2)


def first_row(subject: Subject, writer: Writer, **other: Any) -> Tensor:
    """Give the probabilities that the first new word is drawn from: (V);
    FailedError where they are none."""
    rows = text_of(subject, writer, **other).rows[:1]
    if not rows or (rows[0] < 0).any() or abs(rows[0].sum() - 1) > 1e-3:
        raise FailedError("It draws from no probabilities.")
    return rows[0]


def wrong_heat(subject: Subject, writer: Writer, _: Text) -> Fault | None:
    """Say that a temperature does not divide the logits."""
    key = next((x for x in writer.asked if x.startswith("temp")), "")
    if not key:
        return None
    cold, warm = (
        first_row(subject, writer, **{key: x}) for x in (1.0, WARM)
    )
    if cold.shape != warm.shape:
        return None
    both = (cold > 0) & (warm > 0)
    times = (warm[both].log().std() / cold[both].log().std()).item()
    if not times < torch.inf or abs(times - 1 / WARM) < 0.05:
        return None
    says = (
        f"with {key}={WARM:g}, logits are {times:.2f} times as far apart "
        f"as with 1: a temperature divides them, which makes {1 / WARM:.2f}."
    )
    return says, BROKEN


def wrong_top(subject: Subject, writer: Writer, text: Text) -> Fault | None:
    """Say that top_k leaves other words than the best."""
    if "top_k" not in writer.asked:
        return None
    kept = int((first_row(subject, writer, top_k=2) > 0).sum())
    new = text_of(subject, writer, top_k=2).new
    if kept <= 2 and new[:1] == text.new[:1]:
        return None
    says = f"with top_k=2, it draws from {kept} words, not the best 2."
    return says, BROKEN


def wrong_end(subject: Subject, writer: Writer, text: Text) -> Fault | None:
    """Say that it goes on after the word that ends it."""
    key, new = next(filter(END.search, writer.asked), ""), text.new
    if not key or len(new) < 3 or new[0] == new[1] or new[1] == new[2]:
        return None
    if text_of(subject, writer, **{key: new[1]}).new[: len(new)] != new:
        return None
    return f"it goes on after the word that is given as {key}.", BROKEN
