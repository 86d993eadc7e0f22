"""Generation: a model's own method goes on as its full runs say."""

import re
from collections.abc import Mapping
from contextlib import suppress
from inspect import Parameter, getsourcefile, isfunction, signature, unwrap
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from shapewatch.properties.caching import MASK, first_words, whole_output
from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.padding import padding_masks
from shapewatch.properties.perturbation import rounding_tolerance
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    find_output,
)
from shapewatch.tracing.record.owners import SITE_PACKAGES

METHODS = "generate", "greedy", "greedy_decode", "sample", "complete"
COUNTS = "max_new_tokens", "max_length", "max_len", "n_tokens", "n", "steps"
END = re.compile("^(eos|end|stop)(_?(id|idx|tok|word)[a-z_]*)?$")
SEARCH = re.compile("beam|penal|repe|ngram")  # not the likeliest word
NEW_WORDS = 4  # that are asked for, at most
Fault = tuple[str, str] | None


class ChosenWords(TorchFunctionMode):
    """Take the likeliest word where one is drawn; keep what it is of, for so
    many texts: (B, V)."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count, self.rows = count, list[Tensor]()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        made = function(*args, **(kwargs or {}))
        if args and name in ("multinomial", "argmax"):
            x = args[0][:, -1] if args[0].ndim == 3 else args[0]
            rows = x.reshape(-1, x.shape[-1])[-self.count :]
            self.rows.append(rows.float().cpu())
            if name == "multinomial" and made.shape[-1] == 1:
                return args[0].argmax(-1, keepdim=True)
        return made


class Text(NamedTuple):
    """What was written: all words, (L); the new ones; and the numbers that
    each of these was chosen by, where that is known."""

    words: Tensor
    new: list[int]
    rows: tuple[Tensor, ...]


class Writer(NamedTuple):
    """A method that writes: its name and parameters; the sequences (1, T)
    that it goes on from, by name; for how many words it is asked, as what,
    and what else it needs; the ids that end a text; and the name of a mask of
    padding, or "", with what stands there at words."""

    name: str
    asked: Mapping[str, Parameter]
    given: dict[str, Tensor]
    new_count: int
    more: dict[str, Any]
    ends: set[int | None]
    mask: tuple[str, bool]


@check
def generation(subject: Subject) -> Verdict:
    """See whether the model's method that writes words, such as `generate`,
    keeps its prompt, and goes on with the likeliest word after all that is
    there, as a full run has it; and whether it divides by a temperature,
    keeps the best `top_k`, and ends where it should; and whether a text in
    a batch with padding is what it is alone. It must take no more than
    sequences, a number and a mask; where it draws, the likeliest is taken.
    """
    writer = writer_of(subject)
    try:
        runs = [continuations_of(subject, writer, n) for n in (0, 1)]
    except FailedError as error:
        says = f"{writer.name} fails, as it is called here: {error}"
        raise NotJudgedError(says) from error
    (text,), (again,) = runs
    if text.new != again.new or not text.new:
        says = f"{writer.name} draws words in a way of its own, or none."
        raise NotJudgedError(says)
    for ask in (wrong_word, wrong_option, wrong_beside_padding):
        with suppress(FailedError):  # as where an option is of another kind
            if fault := ask(subject, writer, text):
                says = f"{writer.name}: {fault[0]}"
                return False, says, text.words[None], fault[1]
    says = f"{writer.name} goes on with the likeliest words of full runs."
    return True, says, text.words[None]


def writer_of(subject: Subject) -> Writer:
    """Find the method that writes, and how to call it; NotJudgedError."""
    name, asked = writing_method(subject.model)
    *rest, last = first_words(subject)
    number = next((x for x in COUNTS if x in asked), "")
    mask = mask_of(subject, asked)
    every = ((x, p) for x, p in asked.items() if p.kind not in (2, 4))
    needed = [x for x, p in every if p.default is p.empty]
    texts = [x for x in needed if x not in (number, mask[0])]
    if texts[len(rest) + 1 :]:
        raise NotJudgedError(f"{name} asks for {texts[len(rest) + 1]}.")
    known = number and len(texts) > len(rest)
    if not known or any(map(SEARCH.search, asked)):
        raise NotJudgedError(f"Nobody knows how to call {name}.")
    if last.is_floating_point() or last.shape[1] < 2:
        raise NotJudgedError("The inputs are no words, or one alone.")
    half = last.shape[1] // 2
    count = min(NEW_WORDS, last.shape[1] - half)
    more: dict[str, Any] = {number: count + half * ("len" in number)}
    given = dict(zip(texts, [*rest, last[:, :half]]))
    if mask[0] in needed:
        shape = given[texts[0]].shape[:2]
        more[mask[0]] = torch.full(shape, int(mask[1]))
    ends = ids_of_end(subject.model, asked) | {subject.ids[0]}
    return Writer(name, asked, given, count, more, ends, mask)


def writing_method(model: Any) -> tuple[str, Mapping[str, Parameter]]:
    """Name the model's own method that writes, and its parameters."""
    methods = (x for x in METHODS if isfunction(getattr(type(model), x, None)))
    if not (name := next(methods, "")):
        raise NotJudgedError("The model has no method that writes words.")
    method = getattr(model, name)
    if SITE_PACKAGES in str(getsourcefile(unwrap(method))):
        raise NotJudgedError(f"Its {name} is a library's.")
    return name, signature(method).parameters


def mask_of(subject: Subject, asked: Mapping[str, Any]) -> tuple[str, bool]:
    """Name the mask of padding that a method takes, or "", and say what it
    has at words: as in the mask that the model is given."""
    known = {MASK: True}
    for i, (_, word) in padding_masks(subject).items():
        known[subject.names[i]] = word
    return next(((x, known[x]) for x in asked if x in known), ("", True))


def ids_of_end(model: Any, asked: Mapping[str, Parameter]) -> set[int]:
    """Find the ids that end a text: defaults, and what the model has."""
    known = {name: one.default for name, one in asked.items()} | vars(model)
    known |= getattr(getattr(model, "config", None), "__dict__", {})
    found = (x for name, x in known.items() if END.search(name))
    return {x for x in found if isinstance(x, int)}


def continuations_of(
    subject: Subject, writer: Writer, seed: int = 0, **option: Any
) -> list[Text]:
    """Let a method write on from each row that it is given, and from one
    alone after another text; FailedError if it fails."""
    *_, prompts = given = tuple(x.clone() for x in writer.given.values())
    count = len(prompts)
    mode = ChosenWords(count)

    def ask(*given: Tensor) -> Tensor:
        method, made = getattr(subject.model, writer.name), None
        with mode:
            for every in ([x.flip(1) for x in given], given)[count > 1 :]:
                mode.rows.clear()
                named = dict(zip(writer.given, every))
                made = method(**named, **{**writer.more, **option})
        made = torch.tensor(made) if isinstance(made, list) else made
        return find_output(made).cpu()

    made = subject.call(ask, given, seed)
    if made.is_floating_point() or made.ndim not in (1, 2):
        raise FailedError("it gives no ids")
    texts = made.reshape(-1, made.shape[-1])
    if len(texts) < count:
        raise FailedError("it gives no text for each row")
    rows = [x for x in mode.rows if len(x) == count]
    every = zip(texts, prompts.cpu(), [*zip(*rows)] or [()] * count)
    return [text_from(writer, *one) for one in every]


def text_from(
    writer: Writer, words: Tensor, prompt: Tensor, rows: tuple[Tensor, ...]
) -> Text:
    """Tell what is new in a text, up to its end."""
    kept = words[: len(prompt)].equal(prompt)
    new = words[len(prompt) * kept :].tolist()
    ended = [n for n, x in enumerate(new, 1) if x in writer.ends]
    rows = rows if len(rows) == len(new) else ()
    return Text(words, new[: ended[0] if ended else None], rows)


def wrong_word(subject: Subject, writer: Writer, text: Text) -> Fault:
    """Say that a prompt is neither kept nor left out, or which word is not
    the likeliest one that may be chosen."""
    (*rest, read), unlike = writer.given.values(), None
    exact = writer.new_count in writer.more.values() and read.shape[1] > 1
    if exact and len(text.new) == len(text.words) > writer.new_count:
        says = f"the prompt {read[0].tolist()} is not kept: it gives "
        return f"{says}{text.words.tolist()}.", BROKEN
    for n, word in enumerate(text.new[: writer.new_count]):
        row = whole_output(subject, (*rest, read))[0, -1].float().cpu()
        if row.ndim != 1 or word >= len(row):
            raise NotJudgedError("The outputs are no logits of words.")
        chosen, left = text.rows[n] if text.rows else row, row
        if len(chosen) == len(row):  # some may be ruled out
            left = row.where((chosen != 0) & chosen.isfinite(), -torch.inf)
        best = int(left.argmax())
        if left[best] - row[word] > 1e-3 * row[row.isfinite()].std():
            where = f"{n} more" if n else "the prompt"
            says = f"after {where}, it goes on with {word}, where the last "
            says += f"row of a full run has {best} as the likeliest. Look at "
            says += "which row is read, and at what is handed on or cached."
            return says, BROKEN
        alike = is_chosen_by(chosen, row) or is_chosen_by(chosen, left)
        if not unlike and not alike:
            says = f"word {n + 1} is chosen by other numbers than the last "
            unlike = f"{says}row of a full run has.", UNUSUAL
        read = torch.cat([read, read.new_tensor([[word]])], 1)
    return unlike


def logits_of(row: Tensor) -> Tensor:
    """Give logits of probabilities, without zeros, in their order: (K); one
    0, where these are no probabilities."""
    known = (row >= 0).all() and abs(row.sum() - 1) < 1e-3
    return row[row > 0].log().sort().values if known else torch.zeros(1)


def is_chosen_by(chosen: Tensor, row: Tensor) -> bool:
    """Whether a word is chosen by a softmax of these logits (V), or of the
    best of them, at some temperature; what is none is not judged."""
    x = logits_of(chosen)
    y = row[row.isfinite()].sort().values[-len(x) :]
    if len(x) < 3 or len(x) != len(y):
        return True
    return torch.corrcoef(torch.stack([x, y]))[0, 1].item() > 1 - 5e-5


def wrong_option(subject: Subject, writer: Writer, written: Text) -> Fault:
    """Say that a temperature does not divide the logits, that top_k leaves
    more words than the best, or that it goes on after its end."""

    def text_with(**option: Any) -> Text:
        return continuations_of(subject, writer, **option)[0]

    def first_logits(**option: Any) -> Tensor:
        rows = text_with(**option).rows
        return logits_of(rows[0] if rows else torch.zeros(1))

    for key in (x for x in writer.asked if x.startswith("temp")):
        cold, warm = (first_logits(**{key: heat}) for heat in (1.0, 2.0))
        times = warm.std(correction=0) / cold.std(correction=0)
        if len(cold) == len(warm) > 1 and abs(times - 0.5) > 0.05:
            says = f"with {key}=2, logits are {times:.2f} times as far apart "
            says += "as with 1: a temperature divides them, which makes 0.50."
            return says, BROKEN
    if "top_k" in writer.asked:
        kept = len(first_logits(top_k=2))
        if kept > 2:
            says = f"with top_k=2, it draws from {kept} words, not the best 2."
            return says, BROKEN
    key, new = next(filter(END.search, writer.asked), ""), written.new
    may_end = key and len(new) > 2 and new[0] != new[1] != new[2]
    if may_end and text_with(**{key: new[1]}).new[: len(new)] == new:
        return f"it goes on after the word that is given as {key}.", BROKEN
    return None


def wrong_beside_padding(
    subject: Subject, writer: Writer, text: Text
) -> Fault:
    """Say that a text is another one in a batch in which a shorter one has
    padding: on the left of prompts, and behind a source."""
    first_one, *more = writer.given.values()
    stands = not subject.real[0][:, -1 if more else 0].all()
    if first_one.shape[1] < 2 or not (writer.mask[0] or stands):
        return None
    alone, batch = with_padded_row(subject, writer)
    texts = text, *continuations_of(subject, alone)
    tolerance = max(1e-3, 10 * rounding_tolerance(subject))
    for pair in zip(texts, continuations_of(subject, batch)):
        n = parting_step(*pair, tolerance)
        if n is not None:
            return BESIDE_PADDING[n > 0].format(n=n + 1), BROKEN
    return None


def with_padded_row(subject: Subject, writer: Writer) -> tuple[Writer, Writer]:
    """Ask for a shorter text alone, and for the whole one and that in a
    batch, with padding beside it and a mask, where there is one."""
    (name, long), *more = writer.given.items()
    (mask, word), count = writer.mask, long.shape[1] // 2
    short, hidden = long[:, count:], long[:, :count]
    if subject.ids[0] is not None:
        hidden = torch.full_like(hidden, subject.ids[0])
    marks = torch.full((2, long.shape[1]), int(word))
    marks[1, :count] = int(not word)
    row = torch.cat((hidden, short), 1)
    if more:
        row, marks = torch.cat((short, hidden), 1), marks.flip(1)
    both = {name: torch.cat((long, row))}
    both |= {x: torch.cat((y, y)) for x, y in more}
    one = {mask: marks[:1, count:]} if mask in writer.more else {}
    every = {mask: marks} if mask else {}
    given = writer.given | {name: short}
    return (
        writer._replace(given=given, more=writer.more | one),
        writer._replace(given=both, more=writer.more | every),
    )


BESIDE_PADDING = (
    "in a batch with padding, a text goes on in another way than alone. Look "
    "at the mask, and at the positions: words are counted without padding.",
    "in a batch with padding, a text goes on as alone at first, and from new "
    "word {n} on in another way. Look at what later steps are given: a mask "
    "of all keys, old and new, and positions that leave padding out.",
)


def parting_step(one: Text, other: Text, tolerance: float) -> int | None:
    """Say at which new word two texts part, or the numbers that it is chosen
    by, where these are known; None if nowhere."""
    if not (one.rows and other.rows):
        every = enumerate(zip(one.new, other.new))
        return next((n for n, (x, y) in every if x != y), None)
    for n, (a, b) in enumerate(zip(one.rows, other.rows)):
        far = (a - b).where(a.isfinite() & b.isfinite(), 0).abs().max()
        if far > tolerance * a[a.isfinite()].std():
            return n
        if one.new[n : n + 1] != other.new[n : n + 1]:
            return None
    return None
