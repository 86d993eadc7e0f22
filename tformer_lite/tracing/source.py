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
    known = lines and None not in (first, last, start, end)
    # Whatever was evaluated from a string is called <string>.
    if not known or code.co_filename == "<string>":
        return []
    chosen = [line.encode() for line in lines[first - 1 : last]]
    chosen[-1] = chosen[-1][:end]
    chosen[0] = chosen[0][start:]
    try:
        call = ast.parse(b"".join(chosen), mode="eval").body
    except SyntaxError:  # the file is no longer what is running
        return []
    arguments = call.args if isinstance(call, ast.Call) else []
    if any(isinstance(argument, ast.Starred) for argument in arguments):
        return []
    return [ast.unparse(argument) for argument in arguments]
