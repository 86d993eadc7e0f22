"""Whether submissions can be run here as they would be in a course."""

import os

import pytest

from classroom.sandbox import check_bubblewrap


def why_not() -> str:
    """Why bubblewrap cannot be used here, or ""."""
    try:
        check_bubblewrap()
    except RuntimeError as error:
        return str(error)
    return ""


# Where `CI` is set, they fail.
needs_bubblewrap = pytest.mark.skipif(
    why_not() != "" and "CI" not in os.environ,
    reason=f"{why_not()} `make browser` installs it.",
)
