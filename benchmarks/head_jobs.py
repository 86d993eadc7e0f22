"""What the heads of a trained decoder are for: one at a time falls silent,
and it is counted what becomes of the verb."""

from collections import Counter
from copy import deepcopy
from dataclasses import replace

from benchmarks.translators import (
    FEW,
    OBJECT,
    RECIPE,
    SEEDS,
    SHIPPED,
    TESTED,
    TOKENIZERS,
    part,
    shares_right,
    translator_of,
)
from tformer_lite import EncoderDecoder, english_nepali, tiny_translator
from tformer_lite.model.modes import evaluating
from tformer_lite.text.tokenizers import EOS

# Those who do something of whom a verb has a form of its own: I, we, you and
# they. All others share that of *he*.
FOUR = {"मैले", "हामीले", "तिमीले", "उनीहरूले"}
PAIRS = english_nepali("test")
ATTENTIONS = "self_attention", "cross_attention"
Jobs = dict[str, dict[str, int]]  # by kind of mistake, then by head


def head_jobs() -> dict[str, Jobs]:
    """Train the translator from five seeds, the shipped one among them,
    silence each head of its decoder in turn, and count other verbs and other
    forms of the right one."""

    def jobs(seed: int) -> Jobs:
        trainer = translator_of(tiny_translator, replace(RECIPE, seed=seed))
        return jobs_of(trainer.model)

    return {str(seed): jobs(seed) for seed in (SHIPPED, *SEEDS[: FEW - 1])}


def jobs_of(model: EncoderDecoder) -> Jobs:
    """Count the mistakes that come of each head's silence: another verb, by
    whomever, another form where one of the four has done it, and sentences
    that it writes wrongly, of all."""
    jobs: Jobs = {"another verb": {}, "another form": {}, "wrong": {}}
    for kind in ATTENTIONS:
        for head in range(model.config.n_heads):
            name, silent = f"{kind} {head}", silenced(model, kind, head)
            counts = Counter(verb_mistakes(silent))
            wrong = 1 - shares_right(silent)["exact_match"]
            jobs["wrong"][name] = round(wrong * len(TESTED))
            jobs["another verb"][name] = sum(
                counts["another verb", of_four] for of_four in (True, False)
            )
            jobs["another form"][name] = counts["another form", True]
    return jobs


def silenced(model: EncoderDecoder, kind: str, head: int) -> EncoderDecoder:
    """Copy a model without what one head of its decoder adds."""
    silent, config = deepcopy(model), model.config
    size = config.d_model // config.n_heads
    layer = silent.get_submodule(f"decoder.blocks.0.{kind}.output")
    layer.get_parameter("weight").data[:, head * size :][:, :size] = 0
    return silent


def verb_mistakes(model: EncoderDecoder) -> list[tuple[str, bool]]:
    """Judge the verbs that a model predicts after the right words, in those
    sentences of the test part that say who did what to whom; and say whether
    it was one of the four."""
    rows = [i for i, (_, nepali) in enumerate(PAIRS) if OBJECT in nepali]
    (src, tgt), labels = part("test")[rows]
    # The verb stands before a full stop or a question mark, and [EOS].
    place = (labels == EOS).int().argmax(1, keepdim=True) - 2
    with evaluating(model):
        best = model(src, tgt).argmax(-1)
    verbs, words = (
        [TOKENIZERS[1].decode(row) for row in ids.gather(1, place).tolist()]
        for ids in (labels, best)
    )
    stems = {verb[:3] for verb in verbs}
    of_four = [bool(FOUR & {*PAIRS[row][1].split()}) for row in rows]
    names = [mistake(*both, stems) for both in zip(words, verbs)]
    return [*zip(names, of_four)]


def mistake(word: str, verb: str, stems: set[str]) -> str:
    """Tell what is wrong with a word in the place of a verb. Three characters
    tell the corpus's verbs of this kind apart."""
    if word[:3] == verb[:3]:
        return "right" if word == verb else "another form"
    return "another verb" if word[:3] in stems else "another word"
