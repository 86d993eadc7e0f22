"""The command line: python -m tformer_lite --help."""

import os
import sys

STOPPED = 130  # what a shell calls a program that Ctrl-C has ended
WRONG = 2


def main(argv: list[str] | None = None) -> int:
    """Run one command, and give its exit code: 0, 1 when `check` has found
    something broken, or 2 after an error.

    An error is one line on stderr. Ctrl-C gives 130, and a reader that has
    gone away (`| head`) ends the command without a word.
    """
    try:
        from tformer_lite.commands.arguments import read  # Ctrl-C may come

        options = read(argv)
        code = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at the end: let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return WRONG
    except KeyboardInterrupt as stop:
        return complain(str(stop) or "stopped", STOPPED)
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        return complain(error_line(error), WRONG)
    return code or 0


def error_line(error: BaseException) -> str:
    """Put an error into one line; the system's begin with the file."""
    if isinstance(error, OSError) and error.strerror:
        return ": ".join(filter(None, (error.filename, error.strerror)))
    return next(iter(str(error).splitlines()), type(error).__name__)


def complain(text: str, code: int) -> int:
    """Say what went wrong; of several processes, the first one does."""
    if os.environ.get("RANK", "0") == "0":
        print(f"tformer_lite: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
