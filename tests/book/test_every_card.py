"""Every causal language model of transformers has a card: `make full`."""

import pytest
import torch

transformers = pytest.importorskip("transformers")

from model_cards.card import measure  # noqa: E402
from model_cards.configs import Plan  # noqa: E402
from transformers.models.auto.modeling_auto import (  # noqa: E402
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as FAMILIES,
)

from shapewatch.tracing.axes.sizes import run_sizes  # noqa: E402

pytestmark = pytest.mark.full
COUNTS = "num_hidden_layers", "num_layers", "n_layer", "n_layers"
COUNTS += "encoder_layers", "decoder_layers"


def few_layers(kind) -> dict:
    """Let a model have few layers: as many as show each kind of them."""
    config = kind.config_class()
    values = config.to_dict()
    keys = {config.attribute_map.get(key, key) for key in COUNTS}
    many = {key: values[key] for key in keys if values.get(key)}
    lists = {k: x for k, x in values.items()
             if isinstance(x, list) and len(x) in many.values()}  # fmt: skip
    kinds = [*zip(*lists.values())]
    few = max([4, *(kinds.index(x) + 1 for x in kinds)])
    return {key: min(n, few) for key, n in many.items()} | {
        key: x[:few] for key, x in lists.items()
    }


@pytest.mark.parametrize("name", dict.fromkeys(FAMILIES.values()))
def test_a_causal_model_that_runs_has_a_card(name):
    """What cannot run by its own defaults, without numbers, is left out."""
    try:
        kind = getattr(transformers, name)
        plan = Plan(kind, few_layers(kind))
        with torch.no_grad():
            model, inputs = plan.build(**run_sizes(plan.dims))
            model(*inputs)
    except Exception as error:
        pytest.skip(f"{type(error).__name__}: {error!s:.100}")
    card = measure(plan)
    count = sum(x.numel() for x in model.parameters())
    assert card.parameters.value(card.run) == count
