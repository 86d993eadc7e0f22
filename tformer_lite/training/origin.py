"""Where a training's data come from: what a checkpoint keeps of them."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The data of a training: their file, what was in it, how it was split.

    `path` is None for what comes with the module, and `fingerprint` the
    SHA-256 of the text as it was read. `split` names the way it was split:
    text, at one place; pairs, by source sentence; shipped, as it comes.
    `share` of it is for training, and `seed` draws who is.
    """

    path: str | None
    fingerprint: str
    split: str = "text"
    share: float = 0.8
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise TypeError for what no file of ours has."""
        words = self.path or "", self.fingerprint, self.split
        if not all(isinstance(word, str) for word in words):
            raise TypeError(f"{words} are not all words")
        if not (0 < self.share < 1 and isinstance(self.seed, int)):
            raise TypeError(f"{self.share=} or {self.seed=}")


def fingerprint(texts: Iterable[str]) -> str:
    """Give the SHA-256 of texts: another one where a letter is another, or
    where one text ends and the next begins."""
    found = sha256()
    for text in texts:
        content = text.encode("utf8")
        found.update(b"%d " % len(content) + content)
    return found.hexdigest()


def full_path(path: str | Path) -> str:
    """Write a path so that it can be found from any folder; a letter that
    no file of ours can keep becomes a question mark."""
    return os.path.abspath(path).encode("utf8", "replace").decode("utf8")
