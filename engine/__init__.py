"""Engine: the reader's own file, run in a page by MicroPython over a small
torch. `engine_script` puts all that it needs into one script."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

from explorer.scripts import join_modules

HERE = Path(__file__).parent
MICROPYTHON = HERE / "micropython"
NAMES = "multiply tensor random operations printing worker"
MODULES = [HERE / f"{name}.mjs" for name in NAMES.split()]
PYTHON = [*sorted(HERE.rglob("torch/**/*.py")), HERE / "running.py"]
# Of a module that a page opened from a disk may not load, and of a function
# that waits, as the engine is one.
CLASSIC = {
    "import.meta.url": "location.href",
    "export default _createMicroPythonModule;": "",
    "export async function": "async function",
    "var wasmBinary,": "var wasmBinary=globalThis.micropythonCode,",
}
ENGINE = """\
globalThis.transformerEngine = async function () {{
"use strict";
{engine}
const given = {given};
const packed = Uint8Array.from(atob({wasm}), (sign) => sign.charCodeAt(0));
const unpacked = new Response(packed).body
  .pipeThrough(new DecompressionStream("gzip"));
globalThis.micropythonCode = await new Response(unpacked).arrayBuffer();
{micropython}
await serve({{ ...given, python: loadMicroPython }});
}};
"""


def engine_script(translator: dict[str, Any], pairs: str) -> str:
    """Write the engine as a function that a worker runs: `translator` is the
    book's model (sizes, words, shapes, numbers), `pairs` its sentences."""
    micropython = (MICROPYTHON / "micropython.mjs").read_text("utf8")
    for old, new in CLASSIC.items():
        assert old in micropython, old
        micropython = micropython.replace(old, new)
    wasm = (MICROPYTHON / "micropython.wasm").read_bytes()
    packed = base64.b64encode(gzip.compress(wasm, mtime=0)).decode()
    given = {
        "modules": {
            file.relative_to(HERE).as_posix(): file.read_text("utf8")
            for file in PYTHON
        },
        "translator": translator,
        "pairs": pairs,
    }
    return ENGINE.format(
        engine=join_modules(MODULES),
        given=json.dumps(given, ensure_ascii=False),
        wasm=json.dumps(packed),
        micropython=micropython,
    )
