"""What the graph of a run says, and the rules that its lines keep to."""

import re

import torch
from torch import nn

from shapewatch.tracing import trace

LABEL = r'"[^"]*"'
LINES = [
    r"flowchart TD",
    rf" +in\d+\(\[{LABEL}\]\)",
    r" +out\(\[output\]\)",
    rf" +subgraph n\d+ \[{LABEL}\]",
    r" +end",
    rf" +n\d+\[{LABEL}\]",
    rf" +n\d+_\d+\(\({LABEL}\)\)",
    rf" +\w+ -->\|{LABEL}\| \w+",
]
BOX = re.compile(r'(?:subgraph )?(\w+) ?[\[(]+"?(.*?)"?[\])]+$')
ARROW = re.compile(r'(\w+) -->\|"(.*)"\| (\w+)')


def graph(model, *inputs, depth=None, **names) -> tuple[dict, set]:
    """The boxes by name, and the arrows; both as they are labelled. Every
    line keeps to Mermaid's rules, as its own parser has read them."""
    lines = trace(model, *inputs, **names).to_mermaid(depth).splitlines()
    boxes, arrows = {}, set()
    for line in lines:
        assert any(re.fullmatch(rule, line) for rule in LINES), line
        if arrow := ARROW.match(line.strip()):
            start, label, end = arrow.groups()
            arrows.add((boxes[start], label, boxes[end]))
        elif box := BOX.match(line.strip()):
            assert box[1] not in boxes
            boxes[box[1]] = box[2].replace("<br>", " ")
    text = "\n".join(lines)
    assert text.count("subgraph ") == len(re.findall(r"^ +end$", text, re.M))
    return boxes, arrows


def ways(arrows) -> set[tuple[str, str]]:
    """Who gets something from whom, without what is said of it."""
    return {(start, end) for start, _, end in arrows}


class Residual(nn.Module):
    """A layer beside a way around it."""

    def __init__(self, keeps=False):
        super().__init__()
        self.norm, self.layer = Norm() if keeps else nn.ReLU(), nn.Linear(4, 4)

    def forward(self, x, unused=None):
        return x + self.layer(self.norm(x))


class Norm(nn.Module):
    """As in Llama: what it is given is turned into what it is already."""

    def forward(self, x):
        return x.to(torch.float32) * 2
