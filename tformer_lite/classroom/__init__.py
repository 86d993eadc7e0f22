"""Exercises: what is asked, how it is checked, and what went wrong."""

from tformer_lite.classroom.checking import check
from tformer_lite.classroom.exercise import Exercise
from tformer_lite.classroom.judging import Verdict

__all__ = ["Exercise", "Verdict", "check"]
