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


@pytest.mark.full
@pytest.mark.parametrize("name", dict.fromkeys(FAMILIES.values()))
def test_a_causal_model_that_runs_has_a_card(name):
    """What cannot run, of four layers and without numbers, is left out."""
    try:
        kind = getattr(transformers, name)
        plan = Plan(kind, {"num_hidden_layers": 4})
        with torch.no_grad():
            model, inputs = plan.build(**run_sizes(plan.dims))
            model(*inputs)
    except Exception as error:
        pytest.skip(f"{type(error).__name__}: {error!s:.100}")
    card = measure(plan)
    count = sum(x.numel() for x in model.parameters())
    assert card.parameters.value(card.run) == count
