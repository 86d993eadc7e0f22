"""A GPT whose first guesses are far too sure."""

from tests.helpers.strangers import GPT


class Tied(GPT):
    """The head has the words' table, which is far too large for it."""

    def __init__(self):
        super().__init__()
        self.head.weight = self.tokens.weight
