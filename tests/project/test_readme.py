"""The README's code runs as it stands."""

import re

import torch
from torch import nn

from tests.helpers.project import ROOT

CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_readmes_code_runs_as_it_stands(capsys):
    names = {
        "model": nn.Linear(12, 12),
        "x": torch.zeros(2, 12),
        "weights": torch.zeros(2, 3, 8, 8),
        "words": list("abcdefgh"),
        "MyNorm": nn.LayerNorm,
    }
    blocks = CODE.findall((ROOT / "README.md").read_text("utf8"))
    assert len(blocks) == 2
    for block in blocks:
        exec(block, names)
    said = capsys.readouterr().out
    assert "(2, 12) -> (2, 12)" in said
    assert "(B, C~), (C~, C~), (C~) -> (B, C~)" in said
    assert isinstance(names["yours"].encoder.norm, nn.Identity)
    assert isinstance(
        names["yours"].encoder.blocks[1].residuals[0].norm, nn.LayerNorm
    )
    assert names["writer"].head.out_features == 28
