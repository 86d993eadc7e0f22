"""What comes of calling a student's code, which cannot stop us."""

import contextlib
import copy
import io
import linecache
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch
from torch import Tensor, nn

from classroom.cases import Case, named_shape
from classroom.values import plain_value
from tformer_lite.model.config import tiny_translator
from tformer_lite.model.models import EncoderDecoder

PACKAGES = "shapewatch", "tformer_lite", "explorer", "gallery", "classroom"
SECONDS = 5.0  # of a processor, for one call
PATIENCE = 60  # times as long may it take on a busy machine, or asleep
TAIL = 400  # characters of what a student's error says
STUB = 6  # bytes of code in a function that has only `...` or `pass`
FORGOTTEN = (
    "it returns None: did you forget `return`? `print` only shows a value"
)
AMBIGUOUS = "Boolean value of Tensor"
BRACKETS = ": `&` and `|` bind before `<` and `==`: put brackets around these"


class TookTooLong(BaseException):
    """Ends a loop that does not end; `except Exception` lets it pass."""


@dataclass(frozen=True)
class Outcome:
    """What came of one call: a value, or the error that stopped it. `changed`
    numbers the inputs that the call changed in place."""

    value: Any = None
    error: str = ""
    says: str = ""
    changed: tuple[int, ...] = ()


GIVEN = "give the function itself, not what it returns"
NO_FUNCTION = Outcome(error="NoFunction", says=GIVEN)


def run_on_cases(answer: Any, cases: list[Case]) -> list[Outcome]:
    """Call an answer with each case. What is no function is its own value."""
    outcomes = []
    for number, case in enumerate(cases):
        outcomes.append(call_on_copies(answer, case, number))
        if outcomes[-1].error == "TookTooLong":
            break
    late = Outcome(error="NotTried", says="an earlier call took too long")
    return outcomes + [late] * (len(cases) - len(outcomes))


def call_on_copies(answer: Any, case: Case, seed: int = 0) -> Outcome:
    """Call an answer with copies of what a case has, and random numbers of
    a seed: another call has others. What the first prints is shown."""
    if not callable(answer):
        given = isinstance(answer, Tensor | list | tuple) and case.args
        return NO_FUNCTION if given else Outcome(plain_value(answer))
    if used := used_names(answer) & {*case.without}:
        says = f"do it without {', '.join(sorted(used))}"
        return Outcome(error="ForbiddenMeans", says=says)
    args = copy.deepcopy(case.args)
    try:
        with (
            own_seed(seed),
            contextlib.redirect_stdout(io.StringIO() if seed else sys.stdout),
            warnings.catch_warnings(action="ignore" if seed else None),
            time_limit(SECONDS),
        ):
            built = build_answer(answer, case)
            value = plain_value(built(*args))
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        return Outcome(None, type(error).__name__, error_text(error, case))
    code = getattr(getattr(built, "forward", built), "__code__", None)
    if value is None and code and len(code.co_code) > STUB:
        return Outcome(error="NoReturn", says=FORGOTTEN)
    changed = [i for i, x in enumerate(args) if is_changed(x, case.args[i])]
    return Outcome(value, changed=tuple(changed))


def used_names(answer: Any) -> set[str]:
    """List the names in the code of an answer, and of the functions beside it
    that it uses."""
    waiting, names, visited = [answer], set[str](), set[int]()
    while waiting:
        value = waiting.pop()
        if id(value) in visited:
            continue
        visited.add(id(value))
        if isinstance(value, type):
            waiting += [x for x in vars(value).values() if callable(x)]
        elif isinstance(value, FunctionType):
            used = code_names(value.__code__)
            beside = (value.__globals__.get(name) for name in used)
            waiting += [x for x in beside if written_beside(x, value)]
            names |= used
    return names


def code_names(code: CodeType) -> set[str]:
    """List the names in code, and in the functions inside it."""
    inner = (x for x in code.co_consts if isinstance(x, CodeType))
    return {*code.co_names}.union(*map(code_names, inner))


def written_beside(value: Any, function: FunctionType) -> bool:
    """Tell whether a function or class stands in the same notebook."""
    written = isinstance(value, type | FunctionType)
    return written and value.__module__ == function.__module__


def build_answer(answer: Any, case: Case) -> Any:
    """Build what is called: the answer, or what it is a class of."""
    if case.within:
        answer = mask_in_shape(answer) if case.within == "mask" else answer
        config = replace(tiny_translator, **(case.make or {}))
        answer = EncoderDecoder(replace(config, **{case.within: answer}))
    elif case.make is not None:
        if isinstance(answer, nn.Module):
            raise TypeError("give the class itself, not an object of it")
        answer = answer(**case.make)
    if isinstance(answer, nn.Module):
        if case.state is not None:
            load_parameters(answer, case.state)
        answer.train(case.training)
    return answer


def mask_in_shape(answer: Any) -> Any:
    """Ask of a mask that it has all four axes, though PyTorch adds them."""

    def mask(t: int, device: Any = None) -> Any:
        found = answer(t, device)
        if found.shape != (1, 1, t, t):
            raise ValueError(f"a mask is (1, 1, T, T), not {(*found.shape,)}")
        return found

    return mask


def load_parameters(module: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Give a module its parameters, or say which ones it should have."""
    try:
        module.load_state_dict(copy.deepcopy(dict(state)))
    except RuntimeError as error:
        shapes = {name: x.shape for name, x in module.state_dict().items()}
        wanted = [
            f"{name} {tuple(x.shape)}"
            for name, x in state.items()
            if shapes.get(name) != x.shape
        ]
        raise RuntimeError(
            "the constructor makes the wrong parameters: missing, or of the "
            f"wrong shape: {', '.join(wanted) or 'none'}; too many: "
            f"{', '.join(sorted({*shapes} - {*state})) or 'none'}"
        ) from error


@contextlib.contextmanager
def own_seed(seed: int = 0) -> Iterator[None]:
    """Leave the random numbers and the settings of torch as they were."""
    settings = torch.is_grad_enabled(), torch.get_default_dtype()
    ahead = torch.default_generator.get_state()
    try:  # torch.manual_seed writes down the whole stack, for a GPU
        torch.default_generator.manual_seed(seed)
        yield
    finally:
        torch.default_generator.set_state(ahead)
        torch.set_grad_enabled(settings[0])
        torch.set_default_dtype(settings[1])


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TookTooLong when so much was computed, and again until that
    works; without a limit where the system has no such clock."""
    main = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "setitimer") or not main:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if clock() > most or time.monotonic() > latest:
            raise TookTooLong(f"no result after {seconds:.1f} seconds")

    def tell(raised: Any) -> None:  # of what a callback raised in vain
        if raised.exc_type is not TookTooLong:
            print_error(raised)

    many = torch.get_num_threads() > 1  # and these compute while they wait
    clock = time.thread_time if many else time.process_time
    most, latest = clock() + seconds, time.monotonic() + PATIENCE * seconds
    before = signal.signal(signal.SIGALRM, stop)
    print_error, sys.unraisablehook = sys.unraisablehook, tell
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = print_error


def is_changed(mine: Any, before: Any) -> bool:
    """Tell whether an input is no longer what it was; NaN may stay NaN."""
    if not isinstance(before, Tensor):
        return False
    try:
        pair = mine.nan_to_num(0.5), before.nan_to_num(0.5)
        return mine.shape != before.shape or not torch.equal(*pair)
    except Exception:
        return True


def error_text(error: BaseException, case: Case) -> str:
    """Say what an error says, on which of the student's lines, and which
    shapes the tensors of that line had."""
    text = " ".join(str(error).split())[:TAIL] or type(error).__name__
    text += BRACKETS if AMBIGUOUS in text else ""
    frames = [*traceback.walk_tb(error.__traceback__)]
    theirs = [(f, n) for f, n in frames if written_by_student(f)]
    if not theirs:
        return text
    frame, number = theirs[-1]
    line = linecache.getline(frame.f_code.co_filename, number).strip()
    if not line:
        return text
    words = dict.fromkeys(re.findall(r"[^\W\d]\w*", line))
    tensors = [
        f"{word} {named_shape(frame.f_locals[word].shape, case.sizes)}"
        for word in words
        if isinstance(frame.f_locals.get(word), Tensor)
    ]
    where = f"{text}; in the line: {line}"
    return f"{where}, with {', '.join(tensors)}" if tensors else where


def written_by_student(frame: FrameType) -> bool:
    """Tell a student's line from those of libraries and of this module."""
    package = frame.f_globals.get("__name__", "").partition(".")[0]
    file = frame.f_code.co_filename
    ours = package in (*PACKAGES, "torch") or "site-packages" in file
    return not (ours or "/lib/python" in file)
