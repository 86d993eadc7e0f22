"""Files of earlier formats, which called the parts by other names."""

import re

import pytest
import torch

from tests.helpers.small import build, small, words
from tformer_lite import Checkpoint, DecoderOnly, EncoderDecoder
from tformer_lite.training.checkpoints import load_checkpoint, pack
from tformer_lite.training.weights import OLD_CHOICES

SRC, TGT = words(10, 2, 6), words(11, 2, 7)


def in_format_2(model, old: dict) -> dict:
    """What format 2 kept of a model: a config's words, and other keys."""
    packed = pack(Checkpoint(model))
    fields = packed["model_config"] | {"mask": "causal"} | old
    for name in ("n_kv_heads", "window", "tied"):
        del fields[name]
    weights = {
        re.sub(r"norms\.(\d)", r"residuals.\1.norm", name): x
        for name, x in packed["model_state_dict"].items()
    }
    new = {"model_state_dict": weights, "model_config": fields, "format": 2}
    return packed | new


@pytest.mark.parametrize("kind", [DecoderOnly, EncoderDecoder])
@pytest.mark.parametrize(("field", "word"), OLD_CHOICES)
def test_a_file_of_format_2_is_the_same_model(kind, field, word, tmp_path):
    config = small("building_blocks", **OLD_CHOICES[field, word])
    model = build(kind, config)
    old = {field: word}
    if config.positions == "rotary":
        old["positions"] = "none"
    torch.save(in_format_2(model, old), tmp_path / "model.pt")
    again = load_checkpoint(tmp_path / "model.pt").model
    given = (SRC, TGT) if kind is EncoderDecoder else (TGT,)
    assert again.config == config
    assert again(*given).equal(model(*given))


@pytest.mark.parametrize(
    "old",
    [
        {"attention": "rotary", "positions": "learned"},
        {"cross_attention": "grouped"},
    ],
)
def test_what_no_config_says_any_more_is_refused(old, tmp_path):
    model = build(DecoderOnly, small("char_lm"))
    torch.save(in_format_2(model, old), tmp_path / "model.pt")
    with pytest.raises(ValueError, match="model.pt"):
        load_checkpoint(tmp_path / "model.pt")
