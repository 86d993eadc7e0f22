"""Runs: what a trace is asked that takes another run of the model."""

from functools import partial
from typing import Any

from shapewatch.tracing.calls import Calls
from shapewatch.tracing.questions import costs
from shapewatch.tracing.questions.finite import FirstNan, first_nan
from shapewatch.tracing.questions.spent import Profile
from shapewatch.tracing.tables import Sheet


class Runs(Calls):
    """The torch calls of a run, and what was called: to be run again.

    Whatever is asked, the model, its inputs and the random numbers are as
    before afterwards.
    """

    def __init__(self, *calls: Any, ran: tuple[Any, tuple, dict]):
        super().__init__(*calls)
        self.model, self.inputs, self.options = ran
        self.call = partial(self.model, *self.inputs, **self.options)

    def parameters(self) -> Sheet:
        """Count the parameters of each module."""
        return costs.parameters(self.call)

    def flops(self) -> Sheet:
        """Count the multiply-adds of each module, by another run."""
        return costs.flops(self.model, *self.inputs, **self.options)

    def gradients(self) -> Sheet:
        """List the shape of each parameter's gradient, by another run."""
        return costs.gradients(self.model, *self.inputs, **self.options)

    def profile(self) -> Profile:
        """Measure the time and the memory of each module, by other runs that
        are not recorded; of its `calls`, one by one, by further ones.

        Milliseconds differ from machine to machine and from run to run. On a
        GPU each module waits until it is done, which takes longer in all.
        """
        return Profile(self, self.call)

    def first_nan(self) -> FirstNan:
        """Find the first call that makes NaN or infinity of numbers that
        have none, by another run: where it stands, and what it reads. It is
        false where there is none.

        NaN that comes in with a parameter or an input is found too. -inf
        does not count as long as it masks: it does where NaN comes of it, or
        where it reaches the result.

        >>> trace(torch.log, torch.tensor([1.0, -1.0])).first_nan()
        The first NaN is made outside every module, ...
          log ...
        It makes 1 NaN in 2 numbers. It reads:
          tensor 1: from -1 to 1...
        """
        return first_nan(self, self.call)
