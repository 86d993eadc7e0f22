"""What the code that is running right now looks like."""

import ast
import linecache
from types import FrameType


def argument_texts(caller: FrameType) -> list[str]:
    """Write the positional arguments of the call in progress, as written.

    `caller` is the frame that makes the call. Gives [] where its source
    cannot be found, or when an argument is starred.
    """
    code, step = caller.f_code, caller.f_lasti // 2
    first, last, start, end = list(code.co_positions())[step]
    lines = linecache.getlines(code.co_filename, caller.f_globals)
    if not lines or None in (first, last, start, end):
        return []
    chosen = [line.encode() for line in lines[first - 1 : last]]
    chosen[-1] = chosen[-1][:end]
    chosen[0] = chosen[0][start:]
    call = ast.parse(b"".join(chosen).decode(), mode="eval").body
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return []
    return [ast.unparse(argument) for argument in call.args]
