"""Subjects: a model and its inputs, ready to be asked."""

from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from functools import cached_property, partial

import torch
from torch import Tensor, nn

from tformer_lite.data import PAD, UNK, running_example
from tformer_lite.modes import evaluating
from tformer_lite.properties.nudge import Nudge, nudged
from tformer_lite.tracing import trace
from tformer_lite.tracing.marks import tensors
from tformer_lite.tracing.questions import Trace

FAINT = 1e-5  # of the outputs' size: what moves less has not moved


class NotJudgedError(Exception):
    """A check has nothing to judge; the message says why."""


class FailedError(Exception):
    """The model could not be run; the message says how it failed."""


class Subject:
    """A model, what it reads, and what is known of it.

    `inputs` are a source and a target, or one sequence: ids (B, T) or
    vectors (B, T, C). Models of this module bring their own: the running
    example's. `pad` and `unknown` are ids.
    """

    def __init__(
        self,
        model: Callable,
        *inputs: Tensor,
        pad: int | None = None,
        unknown: int | None = None,
        causal: bool = True,
    ):
        self.model, self.causal = model, causal
        self.config = getattr(model, "config", None)
        own = getattr(self.config, "pad", getattr(model, "pad", None))
        self.pad = own if pad is None else pad
        self.unknown = unknown
        if not inputs:
            inputs = self.example()
        self.inputs = inputs
        self.reaches: dict[int, Tensor] = {}
        self.traces: dict[tuple, Trace] = {}

    def example(self) -> tuple[Tensor, ...]:
        """Take the running example; or random ids, where the vocabulary is
        too small for it."""
        if not hasattr(self.config, "vocab_size"):
            raise TypeError("give the model's inputs, too: check(model, ids)")
        src, tgt, *_ = running_example()
        if self.pad != PAD:  # its padding becomes this model's
            src, tgt = (exchanged(ids, PAD, self.pad) for ids in (src, tgt))
        if self.unknown is None:
            self.unknown = UNK if self.pad != UNK else PAD
        sizes = self.config.src_vocab_size, self.config.vocab_size
        src, tgt = fitted(src, sizes[0] or sizes[1]), fitted(tgt, sizes[1])
        width = min(self.config.max_len, src.shape[1])
        both = src[:, :width], tgt[:, :width]
        return both if hasattr(self.model, "encode") else both[1:]

    @property
    def target(self) -> Tensor:
        """The sequence that the output's rows belong to."""
        return self.inputs[-1]

    def side(self, which: int) -> str:
        """Say which of two inputs one is."""
        both = len(self.inputs) == 2
        return ("source", "target")[which] if both else "input"

    def run(self, *inputs: Tensor, seed: int = 0) -> Tensor:
        """Run the model in evaluation, with random numbers of its own:
        -> (B, T, ...). Raises FailedError for whatever goes wrong."""
        return output(self.ran(self.model, inputs or self.inputs, seed))

    def ran(self, call: Callable, inputs: tuple, seed: int = 0, **options):
        """Call what runs the model, quietly."""
        module = isinstance(self.model, nn.Module)
        quiet = evaluating(self.model) if module else torch.no_grad()
        with torch.random.fork_rng(devices=[]), quiet:
            torch.manual_seed(seed)
            try:
                return call(*inputs, **options)
            except Exception as error:
                raise FailedError(told(error)) from error

    @cached_property
    def base(self) -> Tensor:
        """What the model gives, undisturbed: (B, T, ...)."""
        base = self.run()
        if base.shape[:2] != self.target.shape[:2]:
            raise NotJudgedError(
                f"The output {tuple(base.shape)} has no row for each "
                f"position of the input {tuple(self.target.shape)}."
            )
        if not base.isfinite().all():
            raise NotJudgedError("The outputs are not finite: see `finite`.")
        return base

    def nudge(self, inputs: tuple, which: int, positions: list[int]):
        """Push positions of an input: -> a context, and the inputs."""
        given = inputs[which]
        if not given.is_floating_point():
            return Nudge(given, positions), inputs
        pushed = nudged(given, positions)
        rest = [pushed if i == which else x for i, x in enumerate(inputs)]
        return nullcontext(), tuple(rest)

    def moved(self, which: int, positions: list[int]) -> Tensor:
        """How far each output row moves when positions of an input do:
        (B, T)."""
        context, inputs = self.nudge(self.inputs, which, positions)
        with context:
            after = self.run(*inputs)
        if getattr(context, "lookups", 1) == 0:
            raise NotJudgedError(
                "The ids are never looked up in an embedding."
            )
        return self.distance(after)

    def distance(self, after: Tensor) -> Tensor:
        """How far each output row is from where it was, as a share of the
        outputs' size: (B, T). What is `FAINT` counts as 0."""
        moved = (after - self.base).abs().flatten(2).amax(-1)
        moved = (moved / self.base.std()).nan_to_num(torch.inf)
        return moved.where(moved > FAINT, 0)

    def reach(self, which: int) -> Tensor:
        """How far each output row moves for each input position:
        (B, T, S). `which` is 0 for the source, -1 for the target."""
        which %= len(self.inputs)
        if which not in self.reaches:
            places = range(self.inputs[which].shape[1])
            columns = [self.moved(which, [s]) for s in places]
            self.reaches[which] = torch.stack(columns, -1)
        return self.reaches[which]

    def traced(self, *which: int) -> Trace:
        """Trace a run with every value kept, and with all positions of some
        inputs nudged."""
        if which not in self.traces:
            inputs = self.inputs
            with ExitStack() as stack:
                for i in which:
                    places = list(range(inputs[i].shape[1]))
                    context, inputs = self.nudge(inputs, i, places)
                    stack.enter_context(context)
                call = partial(trace, self.model, keep=True)
                self.traces[which] = self.ran(call, inputs)
        return self.traces[which]

    def has(self, token: int | None) -> bool:
        """Whether an id is among the inputs."""
        ids = [x for x in self.inputs if not x.is_floating_point()]
        return token is not None and any((x == token).any() for x in ids)

    def is_real(self, ids: Tensor) -> Tensor:
        """Which positions are no padding: (B, T)."""
        if ids.is_floating_point() or self.pad is None:
            return torch.ones(ids.shape[:2], dtype=torch.bool)
        return ids != self.pad


def output(result) -> Tensor:
    """Find the tensor in what a model gave: its `logits`, or the first."""
    result = getattr(result, "logits", result)
    found = tensors(result)
    if not found:
        raise FailedError(f"It gave {type(result).__name__}, and no tensor.")
    return found[0]


def told(error: Exception) -> str:
    """Say in one line what went wrong."""
    first = str(error).split("\n")[0]
    return f"{type(error).__name__}: {first[:150]}"


def exchanged(ids: Tensor, one: int, other: int) -> Tensor:
    """Let two ids change places."""
    ones, others = ids == one, ids == other
    return ids.masked_fill(ones, other).masked_fill(others, one)


def fitted(ids: Tensor, vocab_size: int) -> Tensor:
    """Let words that a vocabulary does not have become others, and the four
    specials stay."""
    words = 4 + (ids - 4) % max(vocab_size - 4, 1)
    return words.where(ids >= 4, ids).clamp(max=vocab_size - 1)
