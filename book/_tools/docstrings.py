"""Turn the plain text of a docstring into MyST."""

import re

from roles import coloured

SIGNS = re.compile(r"[*_$<>\[\]|~]")
# (B, T, C), (1 or B, 1, T, S), (..., S): letters of axes and nothing else.
SHAPE = re.compile(r"(?<!\w)\((?:(?:\.{3}|1|[BTSHDCFV]|or|,) ?)+\)")
EXAMPLE = re.compile(r"^>>> .*?(?=\n\n(?!>>> )|\Z)", re.DOTALL | re.MULTILINE)
# What is code: between backquotes, a block, an indented line, a string.
CODE = re.compile(
    r'(`[^`]+`|^```.*?^```|^    .*?$|\w*=?"[^"\n]*")',
    re.DOTALL | re.MULTILINE,
)


def marked(docstring: str) -> str:
    """Turn a docstring into MyST: its signs stay signs, its examples are
    code, and the letters of its shapes have their colours."""
    text = EXAMPLE.sub(r"```pycon\n\g<0>\n```", docstring)
    parts = CODE.split(text)
    parts[::2] = map(plain, parts[::2])
    parts[1::2] = [f"`{p}`" if p[-1] == '"' else p for p in parts[1::2]]
    return "".join(parts)


def plain(text: str) -> str:
    """Escape what MyST would take for marks, and colour shapes."""
    text = SIGNS.sub(r"\\\g<0>", text.replace(" -> ", " → "))
    whole = '<span class="shape">{}</span>'
    return SHAPE.sub(lambda shape: whole.format(coloured(shape[0])), text)
