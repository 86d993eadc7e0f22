"""Ctrl-C that waits for a step to end."""

import signal
import threading


class Interruption:
    """A wish to stop (Ctrl-C) that waits until a step is done.

    `asked` tells of it; KeyboardInterrupt comes at the end of the `with`.
    The second one does not wait. Only the main thread hears of either.
    """

    asked = False

    def __enter__(self) -> "Interruption":
        self.main = threading.current_thread() is threading.main_thread()
        if self.main:
            self.old = signal.signal(signal.SIGINT, self.ask)
        return self

    def ask(self, *_: object) -> None:
        """Note the wish."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, kind: type | None, *_: object) -> None:
        if self.main:
            signal.signal(signal.SIGINT, self.old)
        if self.asked and kind is None:
            raise KeyboardInterrupt
