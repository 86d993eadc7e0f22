"""GPTs that write on by themselves, right and wrong."""

import torch

from tests.helpers.strangers import GPT


class Writer(GPT):
    """It draws words; at a temperature, of the best, up to an end."""

    def chosen(self, logits):
        return logits[:, -1]

    def heated(self, logits, temperature):
        return logits / temperature

    def cut(self, logits, best):
        return logits.masked_fill(logits < best[:, -1:], -torch.inf)

    def read(self, ids):
        return ids

    def drawn(self, weights):
        return torch.multinomial(weights, 1)

    def joined(self, ids, word):
        return torch.cat([ids, word], 1)

    def generate(
        self, ids, max_new_tokens, temperature=1.0, top_k=None, eos=None
    ):
        for _ in range(max_new_tokens):
            logits = self.chosen(self(self.read(ids)))
            logits = self.heated(logits, temperature)
            if top_k is not None:
                logits = self.cut(logits, logits.topk(top_k).values)
            word = self.drawn(logits.softmax(-1))
            ids = self.joined(ids, word)
            if word == eos:
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
    def generate(self, ids, max_new_tokens, eos=None):
        return super().generate(ids, max_new_tokens)


class OtherNumbers(Writer):
    def chosen(self, logits):
        return logits[:, -1] ** 3


class NewOnly(Writer):
    """Right: it gives the new words."""

    def generate(self, ids, max_new_tokens):
        return super().generate(ids, max_new_tokens)[:, ids.shape[1] :]


class Nucleus(Writer):
    """Right: it sorts words, and draws from the first that make 90%."""

    def drawn(self, weights):
        weights, words = weights.sort(descending=True)
        weights = weights * (weights.cumsum(-1) - weights < 0.9)
        weights = weights / weights.sum(-1, keepdim=True)
        return words.gather(1, super().drawn(weights))


class AtRandom(Writer):
    """Right: the likeliest of words that were divided by random numbers."""

    def drawn(self, weights):
        noise = torch.empty_like(weights).exponential_()
        return (weights / noise).argmax(-1, keepdim=True)


class Asks(Writer):
    def generate(self, ids, max_new_tokens, grammar):
        return ids
