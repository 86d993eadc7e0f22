"""Checking: judges become checks, which never raise."""

from collections.abc import Callable
from functools import wraps

from torch import Tensor

from tformer_lite.properties.finding import Finding
from tformer_lite.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    told,
)

Verdict = tuple[bool, str] | tuple[bool, str, Tensor | None]


def check(judge: Callable[[Subject], Verdict]) -> Callable[..., Finding]:
    """Make a check of a function that judges a subject."""
    name = judge.__name__

    @wraps(judge)
    def checked(model, *inputs, **known) -> Finding:
        try:
            given = isinstance(model, Subject)
            subject = model if given else Subject(model, inputs, **known)
            return Finding(name, *judge(subject))
        except NotJudgedError as reason:
            return Finding(name, None, str(reason))
        except FailedError as error:
            return Finding(name, False, f"The model fails: {error}")
        except Exception as error:
            return Finding(name, None, f"It could not be asked: {told(error)}")

    del checked.__wrapped__  # it is called with a model, not a subject
    return checked
