"""Put the exercises, which stand beside the chapters, into what is built."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FORMS = {".md", ".toml", ".xz"}  # but not the sources of homework


class ExercisesHook(BuildHookInterface):
    """Adds them where they are: an unpacked sdist has them inside."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """List the files, and where each goes."""
        chapters = Path(self.root).parent / "chapters"
        for folder in "exercises", "assignments":
            for file in (chapters / folder).glob("*.*"):
                if file.suffix in FORMS:
                    place = f"exercises/{file.name}"
                    build_data["force_include"][str(file)] = place
