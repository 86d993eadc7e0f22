"""Writing: word by word, with a cache, and by a model's own method."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import Parameter, getsourcefile, signature, unwrap
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.perturbation import few_outputs, rounding_tolerance
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    optional_inputs,
    parameter_names,
    select_output,
)
from shapewatch.tracing.record.held import INSTALLED
from shapewatch.tracing.record.tensors import tensors

CACHE = re.compile("past|cache|presents?$")
SWITCH = re.compile("^(use|return|give)_(kv_?)?(cache|past|presents?)s?$")
PLACES = re.compile("^(position_ids|positions|places|pos)$")
FIRST_PLACE = re.compile("^(start|start_pos|offset|past_len(gth)?)$")
NO_CACHE = "The model takes no cache, and gives rows for all words each time."
LAST = 3  # how many positions are read one by one
MOST_IN_PAIRS = 8  # how many are read in pairs, at most
CACHE_HINT = (
    "Look at the numbers of positions and at the mask, which go on where the "
    "cache ends, and at the axis that keys and values are joined along."
)
BEFORE = (
    "is another one when another sequence was read before, though no cache of "
    "that was handed on."
)
DROP = "Look for keys and values that the model keeps."
AT_ONCE = (
    "is another one when two words at a time follow a cache, though one by "
    "one they give what they give whole. Does each see the other? Some models "
    "are meant to read one at a time."
)
PieceRun = Callable[..., Tensor]


@check
def cached_run(subject: Subject) -> Verdict:
    """See whether a sequence that is read in pieces, with the cache that the
    model takes and gives back, has the outputs that it has as a whole.

    Models that keep what they have read, and are given all ids each time,
    are asked, too: they give rows for the new ones only.
    """
    subject = few_outputs(subject)
    given = first_words(subject)
    if len(cuts(given[-1])) == 1:
        raise NotJudgedError("There is one word only: give more.")
    try:
        whole = subject.call(partial(row_outputs, subject), given)
        seen, reason = distances(subject, whole, given)
    except FailedError as error:
        says = f"One row alone, without padding, fails: {error}"
        raise NotJudgedError(says) from error
    if not seen:
        raise NotJudgedError(reason)
    way, least = min(seen, key=lambda one: one[1].max().item())
    if (at := first_apart(subject, least)) is not None:
        says = (
            f"Row 0: output {at} is another one when the words before it "
            f"come from the cache. {CACHE_HINT}"
        )
        return False, says, least
    for ask, says, level in ASKED_NEXT:
        apart = more(subject, partial(ask, subject, way), whole, given)
        if (at := first_apart(subject, apart)) is not None:
            return False, f"Row 0: output {at} {says}", apart, level
    says = "Read in pieces, with a cache, it gives what it gives whole."
    return True, says, least


def first_apart(subject: Subject, apart: Tensor) -> int | None:
    """Give the first output that is another one than of the whole."""
    wrong = (apart > 10 * rounding_tolerance(subject))[0].nonzero()
    return int(wrong[0]) if len(wrong) else None


def distances(
    subject: Subject, whole: Tensor, given: tuple[Tensor, ...]
) -> tuple[list[tuple[PieceRun, Tensor]], str]:
    """How far outputs in pieces are from those of the whole, (1, T), in each
    way that there is, up to one that is right; or why there is none."""
    found, reason = list[tuple[PieceRun, Tensor]](), NO_CACHE
    for way in piece_runs(subject):
        try:
            made = subject.call(partial(way, subject), given)
        except FailedError as error:
            if way is not prefix_outputs:
                reason = f"It cannot go on from a cache: {error}"
            continue
        if made.shape == whole.shape:
            found.append((way, away(made, whole)))
            if first_apart(subject, found[-1][1]) is None:
                break
    return found, reason


def more(
    subject: Subject, ask: PieceRun, whole: Tensor, given: tuple[Tensor, ...]
) -> Tensor:
    """How far outputs are from those of the whole, (1, T), where they are
    read otherwise; 0 where they cannot be read so."""
    try:
        made = subject.call(ask, given)
    except FailedError:
        made = whole
    return away(made if made.shape == whole.shape else whole, whole)


def away(made: Tensor, whole: Tensor) -> Tensor:
    """How far each row of outputs is from that of others: (1, T)."""
    return (made - whole).abs().flatten(2).amax(-1) / whole.std()


def several(subject: Subject, way: PieceRun, *given: Tensor) -> Tensor:
    """Read one half, or all but the last words of many, and then two at a
    time."""
    t = given[-1].shape[1]
    first = max(t // 2, t - MOST_IN_PAIRS, 1)
    return way(subject, *given, ends=[*range(first, t, 2), t])


def after_another(subject: Subject, way: PieceRun, *given: Tensor) -> Tensor:
    """Read another sequence, and then this one, with a cache of its own."""
    read_another(subject, way, *given)
    return way(subject, *given)


def whole_after(subject: Subject, way: PieceRun, *given: Tensor) -> Tensor:
    """Read another sequence in pieces, and then this one as a whole."""
    read_another(subject, way, *given)
    return row_outputs(subject, *given)


def read_another(subject: Subject, way: PieceRun, *given: Tensor) -> None:
    """Read another sequence in two pieces."""
    if (
        way is not prefix_outputs
    ):  # who keeps words may be told when to drop them
        ends = cuts(given[-1])[-2:]
        way(subject, *(x.flip(1) for x in given), ends=ends)


ASKED_NEXT: tuple[tuple[PieceRun, str, str], ...] = (
    (after_another, f"{BEFORE} {DROP}", BROKEN),
    (whole_after, f"{BEFORE} {DROP}", BROKEN),
    (several, AT_ONCE, UNUSUAL),
)


def piece_runs(subject: Subject) -> Iterator[PieceRun]:
    """Find the ways to read in pieces: with an optional input that is a
    cache, and what says where a piece begins; or, where there is none, all
    words again each time."""
    names = optional_inputs(subject.model)
    empty = [name for name, x in names.items() if x is None]
    cache = next(filter(CACHE.search, empty), "")
    if not cache:
        yield prefix_outputs
        return
    for extra in position_arguments(names):
        yield partial(in_pieces, cache=cache, extra=extra)


def row_outputs(subject: Subject, *given: Tensor, **known: Any) -> Tensor:
    """Run, and give the outputs: (1, T, ...)."""
    result = subject.model(*given, **known)
    return select_output(subject.pick, result, given[-1]).clone()


def cuts(words: Tensor) -> list[int]:
    """Say where pieces end: the last words come one by one."""
    t = words.shape[1]
    return [*range(max(t - LAST, 1), t + 1)]


def prefix_outputs(
    subject: Subject, *given: Tensor, ends: list[int] | None = None
) -> Tensor:
    """Read more and more words; join what was given of the new ones."""
    *rest, words = given
    made = [
        row_outputs(subject, *rest, words[:, :end])
        for end in ends or cuts(words)
    ]
    return torch.cat(made, 1)


def in_pieces(
    subject: Subject,
    *given: Tensor,
    cache: str,
    extra: dict[str, str],
    ends: list[int] | None = None,
) -> Tensor:
    """Read a piece after the other, and hand on the cache."""
    *rest, words = given
    switches = [n for n in optional_inputs(subject.model) if SWITCH.match(n)]
    start, held, made = 0, None, []
    for end in ends or cuts(words):
        known: dict[str, Any] = dict.fromkeys(switches, True) | {cache: held}
        for name, how in extra.items():
            every = torch.arange(start, end)[None]
            known[name] = every if how == "all" else start
        piece = words[:, start:end]
        result = subject.model(*rest, piece, **known)
        held, start = cache_of(result, cache), end
        made.append(select_output(subject.pick, result, piece))
    return torch.cat(made, 1)


def position_arguments(names: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Say how a model may be told where a piece begins: not at all, by all
    numbers of positions, or by the first."""
    yield {}
    for how, pattern in (("all", PLACES), ("first", FIRST_PLACE)):
        yield from ({name: how} for name in names if pattern.match(name))


def first_words(subject: Subject) -> tuple[Tensor, ...]:
    """Take the first row of each input, without its padding; what else may
    be given, such as a mask of padding, is left out."""
    names = parameter_names(subject.model, len(subject.given))
    others = names[len(subject.inputs) :]
    come_first = subject.places == [*range(len(subject.inputs))]
    if not (come_first and optional_inputs(subject.model).keys() >= {*others}):
        raise NotJudgedError("Some inputs cannot be cut into pieces.")
    pairs = zip(subject.inputs, subject.real)
    return tuple(x[:1, real[0]] for x, real in pairs)


def cache_of(result: Any, name: str) -> Any:
    """Find the cache in what a model gave: by its name, or the last thing
    beside the outputs."""
    parts = vars(result) if hasattr(result, "__dict__") else {}
    parts = result if isinstance(result, dict) else parts
    others = result[1:] if isinstance(result, (tuple, list)) else ()
    found = parts.get(name, others[-1] if others else None)
    if found is None:
        raise ValueError("it gives no cache back")
    return found


METHODS = (
    "generate",
    "generate_greedy",
    "greedy",
    "greedy_decode",
    "greedy_search",
    "decode_greedy",
    "sample",
    "translate",
    "complete",
)
COUNT = re.compile("max_?(new|len|gen|out|tok|step)|(n|num)_(new|tok|step)")
SHORT = re.compile("^(n|num|steps?|length|count|new_tokens)$")
START_NAME = re.compile(
    "^(bos|sos|start|begin)(_?(id|idx|tok|sym|word)[a-z_]*)?$"
)
END_NAME = re.compile("^(eos|end|stop)(_?(id|idx|tok|sym|word)[a-z_]*)?$")
RANDOM = re.compile("^(do_)?sampl(e|ing)$")
NEW = 4  # words that are asked for


class Likeliest(TorchFunctionMode):
    """Take the likeliest word where one is drawn; keep what it is of."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[Tensor] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if args and name in ("multinomial", "argmax"):
            self.drawn.append(args[0].detach().clone())
        if args and name == "multinomial":
            return args[0].argmax(-1, keepdim=True)
        return function(*args, **(kwargs or {}))


class Text(NamedTuple):
    """What was written: the words of its row, (L), and the numbers that each
    new one was chosen by."""

    words: Tensor
    drawn: list[Tensor]


class WritingMethod(NamedTuple):
    """How a method is called: with which sequences, and what else; its
    parameters, its prompt (1, T), and the ids that end a text."""

    name: str
    given: tuple[Tensor, ...]
    more: dict[str, Any]
    asked: Mapping[str, Parameter]
    prompt: Tensor
    ends: set[int]

    def new(self, words: Tensor) -> list[int]:
        """List the new words, without the prompt, up to an end."""
        prompt = self.prompt[0].cpu()
        kept = words[: len(prompt)].equal(prompt)
        new = words[len(prompt) :] if kept else words
        ended = [n for n, x in enumerate(new.tolist(), 1) if x in self.ends]
        return new.tolist()[: ended[0] if ended else None]


def way_of(subject: Subject) -> WritingMethod:
    """Find the method that writes, and how to call it; NotJudgedError."""
    kind = type(subject.model)
    for name in METHODS:
        method = getattr(kind, name, None)
        if callable(method) and not isinstance(method, nn.Module):
            if INSTALLED in str(getsourcefile(unwrap(method))):
                raise NotJudgedError(f"Its {name} is a library's.")
            return way_to_call(subject, name, signature(method).parameters)
    raise NotJudgedError("The model has no method that writes words.")


def way_to_call(
    subject: Subject, name: str, every: Mapping[str, Parameter]
) -> WritingMethod:
    """Say how to call a method, which begins with its sequences."""
    rows = first_words(subject)
    if any(x.is_floating_point() for x in rows):
        raise NotJudgedError("The inputs are no words.")
    last, alone = rows[-1], len(rows) == 1
    prompt = last[:, : max(last.shape[1] // 2, 1)] if alone else last[:, :1]
    sequences, given = [*rows[:-1], prompt], list[Tensor]()
    more = dict[str, Any]()
    for key, one in [*every.items()][1:]:
        value = argument_for(key, prompt)
        needed = one.default is Parameter.empty and one.kind < 2
        if value is not None and (needed or not END_NAME.search(key)):
            more[key] = value
        elif needed and sequences and not more:
            given.append(sequences.pop(0))
        elif needed:
            raise NotJudgedError(f"{name} asks for {key}.")
    if not given or not any(COUNT.search(x) or SHORT.search(x) for x in more):
        raise NotJudgedError(f"Nobody knows how to call {name}.")
    ends = ends_of(subject.model, every)
    return WritingMethod(name, tuple(given), more, every, prompt, ends)


def argument_for(key: str, prompt: Tensor) -> Any:
    """Say what a parameter should be, by its name; None for nothing."""
    if COUNT.search(key) or SHORT.search(key):
        total = "len" in key and "new" not in key
        return NEW + prompt.shape[1] * total
    if START_NAME.search(key):
        return int(prompt[0, 0])
    values = {"greedy": True, "temperature": 1.0, "temp": 1.0}
    if "beam" in key:
        return 1
    if END_NAME.search(key):
        return -1
    return False if RANDOM.search(key) else values.get(key)


def ends_of(model: Any, every: Mapping[str, Parameter]) -> set[int]:
    """Find the ids that end a text: defaults, and what the model has."""
    config = getattr(model, "config", None)
    names = {key: one.default for key, one in every.items()}
    for held in (getattr(config, "__dict__", {}), vars(model)):
        names |= held
    found = (x for name, x in names.items() if END_NAME.search(name))
    return {x for x in found if isinstance(x, int)}


def next_word_probabilities(
    subject: Subject, way: WritingMethod, **other: Any
) -> Tensor | None:
    """Give what the first new word is drawn from, at random: (V); None where
    it is not drawn, or not from probabilities."""
    random = {x: True for x in way.more if RANDOM.search(x)}
    random |= {"greedy": False} if "greedy" in way.more else {}
    found = generate_after(subject, way, **random, **other).drawn[:1]
    known = [x.flatten() for x in found if (x >= 0).all()]
    return known[0] if known else None


def generate_after(subject: Subject, way: WritingMethod, **other: Any) -> Text:
    """Let a method write, after another text; NotJudgedError if it fails."""
    mode, before = Likeliest(), [x.flip(1) for x in way.given]

    def ask(*given: Any) -> Any:
        method: Any = getattr(subject.model, way.name)
        with mode:
            method(*before, **{**way.more, **other})
            mode.drawn.clear()
            return method(*given, **{**way.more, **other})

    try:
        result = subject.call(ask, tuple(x.clone() for x in way.given))
    except FailedError as error:
        says = f"{way.name} fails, as it is called here: {error}"
        raise NotJudgedError(says) from error
    numbers = isinstance(result, list) and all(
        isinstance(x, int) for x in result
    )
    found = [torch.tensor(result)] if numbers else tensors(result)
    if not found or found[0].is_floating_point() or found[0].ndim > 2:
        raise NotJudgedError(f"{way.name} gives no ids.")
    row = found[0].reshape(-1, *found[0].shape[-1:])[0].cpu()
    if not len(row):
        raise NotJudgedError(f"{way.name} gives no ids.")
    return Text(row, mode.drawn)


WARM = 2.0  # a temperature that is not 1
ROW_HINT = (
    "Look at which row is read, at what is handed on, and at what a cache "
    "has read before."
)
ROW = "row of a full run has."
WritingFault = tuple[str, str]


@check
def generation(subject: Subject) -> Verdict:
    """See whether the model's method that writes words, such as `generate`,
    keeps its prompt, and goes on with the likeliest word after all that is
    there, as a full run has it; and whether it divides by a temperature,
    keeps the best `top_k`, and ends where it should.

    Where it draws at random, the likeliest word is taken.
    """
    way = way_of(subject)
    text = generate_after(subject, way)
    for ask in (wrong_prompt, wrong_word, wrong_heat, wrong_top, wrong_end):
        for says, level in filter(None, [ask(subject, way, text)]):
            return False, f"{way.name}: {says}", text.words[None], level
    says = f"{way.name} goes on with the likeliest words of full runs."
    return True, says, text.words[None]


def wrong_prompt(
    subject: Subject, way: WritingMethod, text: Text
) -> WritingFault | None:
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


def wrong_word(
    subject: Subject, way: WritingMethod, text: Text
) -> WritingFault | None:
    """Say which word is not the likeliest one."""
    read, unlike = way.prompt, None
    new = way.new(text.words)
    for n, word in enumerate(new[:NEW]):
        row = last_row(subject, way, read)
        best = int(row.argmax())
        if row[best] - row[word] > 1e-3 * row.std():
            where = f"{n} more" if n else "the prompt"
            says = f"after {where}, it goes on with {word}, where the last "
            says += (
                f"row of a full run has {best} as the likeliest. {ROW_HINT}"
            )
            return says, BROKEN
        if len(text.drawn) == len(new) and not is_chosen_by(
            text.drawn[n], row
        ):
            unlike = unlike or (
                f"word {n + 1} is chosen by other numbers than the last "
                f"{ROW} {ROW_HINT}",
                UNUSUAL,
            )
        read = torch.cat([read, read.new_tensor([[word]])], 1)
    return unlike


def is_chosen_by(chosen: Tensor, row: Tensor) -> bool:
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


def last_row(subject: Subject, way: WritingMethod, read: Tensor) -> Tensor:
    """Give the logits after these words, of a full run: (V)."""

    def full(*given: Tensor) -> Tensor:
        return select_output(subject.pick, subject.model(*given), given[-1])

    given = (*way.given[: subject.last], read)
    try:
        return subject.call(full, given).float()[0, -1].cpu()
    except FailedError as error:
        says = f"A full run of {read.shape[1]} words fails: {error}"
        raise NotJudgedError(says) from error


def wrong_heat(
    subject: Subject, way: WritingMethod, _: Text
) -> WritingFault | None:
    """Say that a temperature does not divide the logits."""
    heats = [x for x in way.asked if x.startswith("temp")]
    if not heats:
        return None
    made = [
        next_word_probabilities(subject, way, **{heats[0]: x})
        for x in (1.0, WARM)
    ]
    cold, warm = (x if x is None else x.log() for x in made)
    if cold is None or warm is None or cold.shape != warm.shape:
        return None
    if not is_chosen_by(cold.exp(), last_row(subject, way, way.prompt)):
        says = f"the first word is drawn by other numbers than the last {ROW}"
        return f"{says} {ROW_HINT}", UNUSUAL
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


def wrong_top(
    subject: Subject, way: WritingMethod, _: Text
) -> WritingFault | None:
    """Say that top_k leaves other words than the best."""
    if "top_k" not in way.asked:
        return None
    every, some = (
        next_word_probabilities(subject, way),
        next_word_probabilities(subject, way, top_k=2),
    )
    if every is None or some is None or every.shape != some.shape:
        return None
    best, kept = {*every.topk(2).indices.tolist()}, some.nonzero()[:, 0]
    if {*kept.tolist()} == best:
        return None
    says = f"with top_k=2, it draws from {len(kept)} words, not the best 2."
    return says, BROKEN


def wrong_end(
    subject: Subject, way: WritingMethod, text: Text
) -> WritingFault | None:
    """Say that it goes on after the word that ends it."""
    key, new = (
        next(filter(END_NAME.search, way.asked), ""),
        way.new(text.words),
    )
    if not key or len(new) < NEW or new[0] == new[1] or new[1] == new[2]:
        return None
    other = way.new(generate_after(subject, way, **{key: new[1]}).words)
    if other[: len(new)] != new:
        return None
    return f"it goes on after the word that is given as {key}.", BROKEN
