"""Cells as notebooks have them, each with a right answer, NAME, which adds 1
to what it is given; and files in which a notebook may come."""

import json

# Takes away what a grader may not have, whether it is here or not.
HIDE = """
import sys
MISSING = {"IPython", "ipywidgets", "matplotlib", "seaborn", "tqdm", "google"}
class Hidden:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, *more):
        if name.partition(".")[0] in MISSING:
            return None
        return self.finder.find_spec(name, *more)
for name in [n for n in sys.modules if n.partition(".")[0] in MISSING]:
    del sys.modules[name]
sys.meta_path[:-1] = map(Hidden, sys.meta_path[:-1])
"""
ANSWER = "def NAME(x):\n    return x + 1\n"
TRACEBACK = """\
---------------------------------------------------------------------------
NameError                                 Traceback (most recent call last)
<ipython-input-3-2d1f0f1c4b1c> in <module>
----> 1 mask

NameError: name 'mask' is not defined
"""
READ = {
    "help below": ANSWER + "torch.tril?\n?torch.tril\ntorch.nn.Linear??\n",
    "help in the body": "def NAME(x):\n    torch.tril?\n    return x + 1\n",
    "%%time": "%%time\n" + ANSWER,
    "%%capture": "\n%%capture out --no-stderr\n%%time\n" + ANSWER,
    "%time": "def add(x): return x + 1\n%time NAME = add\n",
    "!pip": "!pip install -q \\\n  torch \\\neinops\n" + ANSWER,
    "files": "files = !ls *.csv\nhere = %pwd\n" + ANSWER,
    "%matplotlib": "%matplotlib inline\n%load_ext autoreload\n" + ANSWER,
    "%config": "%config InlineBackend.figure_format = 'svg'\n" + ANSWER,
    "magic in a block": "if True:\n    %matplotlib inline\n" + ANSWER,
    "await": "import asyncio\nawait asyncio.sleep(0)\n"
    "async def one():\n    return 1\nMORE = await one()\n"
    "def NAME(x):\n    return x + MORE\n",
    "get_ipython": "get_ipython().run_line_magic('matplotlib', 'inline')\n"
    "here = get_ipython().getoutput('ls')\n" + ANSWER,
    "run_cell_magic": "get_ipython().run_cell_magic('time', '', "
    "'def NAME(x):\\n    return x + 1\\n')\n",
    "drive": "from google.colab import drive, files\n"
    "drive.mount('/content/drive')\ngiven = files.upload()\n" + ANSWER,
    "display": "from IPython.display import HTML, clear_output, display\n"
    "clear_output(wait=True)\ndisplay(HTML('x'), display_id=1)\n" + ANSWER,
    "own display": "display(1, clear=True)\n" + ANSWER,
    "matplotlib": "import matplotlib as mpl, matplotlib.pyplot as plt\n"
    "mpl.rcParams['figure.dpi'] = 99\nfig, axes = plt.subplots(2, 2)\n"
    "axes[0, 0].plot([1, 2])\nfor ax in axes.flat: ax.grid()\n"
    "with plt.style.context('dark'): plt.imshow(1)\nplt.show()\n" + ANSWER,
    "seaborn": "import seaborn as sns\nsns.heatmap([1]).set(x=1)\n" + ANSWER,
    "tqdm": "from tqdm.auto import tqdm, trange\n"
    "def NAME(x):\n    bar = tqdm([1, 2], desc='x')\n"
    "    for step in bar: bar.set_postfix(a=1)\n"
    "    for i in trange(5): pass\n"
    "    return x + (step == 2 and i == 4)\n",
    "ipywidgets": "import ipywidgets as widgets\n"
    "from ipywidgets import interact\n@interact(n=(1, 2))\n" + ANSWER,
    "main": 'if __name__ == "__main__":\n    NAME = lambda x: x + 1\n',
    "a field of 3.12": 'def NAME(x):\n    sizes = {"a": x}\n'
    '    say = f"{sizes["a"]} {"\\n".join("ab")} {sizes["a"]:>{"1"}}" "!"\n'
    '    return x + (say == f"{x} a\\nb {x}!")\n',
    "a text in a text": 'why = """\n% of it\n! and\n"""\n%time x = 1\n'
    "def NAME(x):\n    return x + (why == '\\n% of it\\n! and\\n')\n",
    "%": "n = (7\n  % 4)\n!ls\ndef NAME(x):\n    return x + n - 2\n",
    "future": "from __future__ import annotations\n"
    "def NAME(x: NoSuchName):\n    return x + 1\n",
    "decorator": "!ls\n@torch.no_grad()\n" + ANSWER,
    "a class": "!ls\nclass Adds:\n    def __call__(self, x):\n"
    "        return x + 1\n\n    def more(self): ...\n\nNAME = Adds()\n",
    "try": "!ls\ntry:\n    import no_such_module\nexcept ImportError:\n"
    "    MORE = 1\nelse:\n    MORE = 2\nfinally:\n    pass\n"
    "def NAME(x):\n    return x + 1\n",
    "all moved in": "    one = 1\n    def NAME(x):\n        return x + one\n",
    "prompts": ">>> def NAME(x):\n...     return x + 1\n>>> NAME(1)\n",
    "a dataclass": "import pickle\nfrom dataclasses import dataclass\n"
    "@dataclass\nclass Sizes:\n    more: 'int' = 1\n"
    "same = pickle.loads(pickle.dumps(Sizes()))\n"
    "def NAME(x):\n    return x + same.more\n",
}
# Something is left out of each, and named: at this line.
LEFT_OUT = {
    "a traceback": (1, TRACEBACK + ANSWER),
    "a sentence": (1, "I don't know what to do here, so\n" + ANSWER),
    "half a sentence": (1, "My answer (as in the book\n" + ANSWER),
    "half a line": (3, ANSWER + "y = NAME(\n"),
    "half a function": (1, "def broken(x:\n    return x\n" + ANSWER),
    "exit": (1, "exit()\n" + ANSWER),
    "quit below": (1, "import sys; sys.exit(0)\n" + ANSWER),
    "input": (1, "name = input('Your name?')\n" + ANSWER),
    "a name that is not there": (2, "x = 1\nx + there\n" + ANSWER),
    "a file that is not there": (1, "open('/content/x.csv')\n" + ANSWER),
    "a module that is not there": (1, "import no_such_module\n" + ANSWER),
    "return": (1, "return 3\n" + ANSWER),
    "an assertion": (1, "assert False\n" + ANSWER),
    "no memory of it": (1, "pip install torch\n" + ANSWER),
    "\0": (1, "x = '\0'\n" + ANSWER),
    "a deep one": (1, "(" * 5000 + "\n" + ANSWER),
}
# Their bodies are no Python of the notebook's.
FOREIGN = {
    name: f"\n%%{name} x.txt\n{ANSWER}"
    for name in ("bash", "html", "writefile", "script", "timeit", "sh", "!")
}


def notebook(*cells: str, as_list: bool = False) -> dict:
    """A notebook of format 4, with a cell of text before each of code."""
    found = []
    for cell in cells:
        source = cell.splitlines(True) if as_list else cell
        found.append({"cell_type": "markdown", "source": "# def NAME"})
        found.append({"cell_type": "code", "source": source, "outputs": []})
    return {"cells": found, "nbformat": 4, "nbformat_minor": 5}


def worksheets(*cells: str) -> dict:
    """A notebook of format 3."""
    found = [{"cell_type": "heading", "level": 1, "source": ["def NAME"]}]
    found += [
        {"cell_type": "code", "language": "python", "input": [cell]}
        for cell in cells
    ]
    return {"worksheets": [{"cells": found}], "nbformat": 3}


def source_text(data: dict) -> str:
    """A notebook as Jupyter writes it."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
