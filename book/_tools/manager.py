"""Let Jupyter read and write chapters: words while they are open, roles in
the texts on disk.

jupytext pairs the halves, and writes the same into both. So it is given files
that say the same, and each is put back into its own form when it is saved.
"""

from pathlib import Path

import jupytext
import nbformat
from jupyter_server.services.contents.largefilemanager import LargeFileManager
from jupytext import build_sync_jupytext_contents_manager_class
from pairs import (
    as_stored,
    as_text,
    book_of,
    take_over,
    touch_text,
    with_fresh_words,
)


class Files(LargeFileManager):
    """Files, of which chapters are read with words, and texts written
    with roles."""

    def get(self, path, content=True, *, require_hash=False, **kind):
        model = super().get(path, content, require_hash=require_hash, **kind)
        if content and (text := self.text(path)):
            if model["type"] == "notebook":
                as_stored(model["content"], book_of(text))
            else:
                model["content"] = with_fresh_words(
                    model["content"], book_of(text)
                )
        return model

    def save(self, model, path=""):
        if model["type"] == "file" and self.text(path):
            chapter = jupytext.reads(model["content"], "md:myst")
            model = {**model, "content": as_text(chapter)}
        return super().save(model, path)

    def text(self, path: str) -> Path | None:
        """Find the text of the chapter that a path leads to, if it does."""
        file = Path(self._get_os_path(path))
        text = file.with_suffix(".md")
        half = file.suffix in {".md", ".ipynb"} and text.exists()
        return text if half and "chapters" in text.parts[:-1] else None


class ChapterManager(build_sync_jupytext_contents_manager_class(Files)):
    """jupytext's manager of pairs, for chapters with roles."""

    def get(self, path, content=True, **kind):
        """Open a file; a chapter first takes over what its notebook alone
        has. An editor of texts gets what is on disk."""
        if kind.get("type") == "file":
            return LargeFileManager.get(self, path, content, **kind)
        text = self.text(path)
        if content and text and text.with_suffix(".ipynb").exists():
            if told := take_over(text):
                self.log.warning(told)
            touch_text(text)
        return super().get(path, content, **kind)

    def save(self, model, path=""):
        """Save both halves of a chapter as `make notebooks` would."""
        text = self.text(path)
        if text and model["type"] == "notebook":
            content = nbformat.from_dict(model["content"])
            model = {**model, "content": as_stored(content, book_of(text))}
        return super().save(model, path)
