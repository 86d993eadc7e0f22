"""GPTs that write on by themselves, right and wrong."""

import torch

from tests.helpers.strangers import GPT


class Writer(GPT):
    """It draws words; at a temperature, of the best, up to an end."""

    def chosen(self, logits):
        """Take the logits that the next word is drawn from: (B, V)."""
        return logits[:, -1]

    def heated(self, logits, temperature):
        return logits / temperature

    def cut(self, logits, best):
        return logits.masked_fill(logits < best[:, -1:], -torch.inf)

    def read(self, ids):
        """Take the words that are read."""
        return ids

    def joined(self, ids, word):
        return torch.cat([ids, word], 1)

    def ends(self, word, eos):
        return eos is not None and bool((word == eos).all())

    def generate(
        self, ids, max_new_tokens, temperature=1.0, top_k=None, eos=None
    ):
        for _ in range(max_new_tokens):
            logits = self.chosen(self(self.read(ids)))
            logits = self.heated(logits, temperature)
            if top_k is not None:
                logits = self.cut(logits, logits.topk(top_k).values)
            word = torch.multinomial(logits.softmax(-1), 1)
            ids = self.joined(ids, word)
            if self.ends(word, eos):
                break
        return ids


class FirstRow(Writer):
    def chosen(self, logits):
        return logits[:, 0]


class LastWordOnly(Writer):
    def read(self, ids):
        return ids[:, -1:]


class Prepends(Writer):
    def joined(self, ids, word):
        return torch.cat([word, ids], 1)


class TimesHeat(Writer):
    def heated(self, logits, temperature):
        return logits * temperature


class Worst(Writer):
    def cut(self, logits, best):
        return logits.masked_fill(logits >= best[:, -1:], -torch.inf)


class Endless(Writer):
    def ends(self, word, eos):
        return False


class OtherNumbers(Writer):
    """The likeliest word stays the likeliest."""

    def chosen(self, logits):
        return logits[:, -1] ** 3


class Cool(Writer):
    """Right: it is at another temperature."""

    def heated(self, logits, temperature):
        return logits / temperature / 0.8


class NewOnly(Writer):
    """Right: it gives the new words."""

    def generate(self, ids, max_new_tokens):
        return super().generate(ids, max_new_tokens)[:, ids.shape[1] :]


class Asks(Writer):
    """Nobody knows what it asks for."""

    def generate(self, ids, max_new_tokens, grammar):
        return ids
