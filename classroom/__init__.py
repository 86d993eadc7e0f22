"""Exercises: what is asked, how it is checked, and what went wrong."""

from classroom.checking import check
from classroom.exercise import Exercise
from classroom.judging import Verdict

__version__ = "0.1.0"
__all__ = ["Exercise", "Verdict", "check"]
