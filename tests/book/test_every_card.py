"""Every causal language model of transformers has a card: `make full`."""

import pytest

transformers = pytest.importorskip("transformers")

from model_cards.card import measure  # noqa: E402
from model_cards.configs import Plan  # noqa: E402
from transformers.models.auto import modeling_auto  # noqa: E402

from shapewatch.tracing.axes.sizes import run_sizes  # noqa: E402

NAMES = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()


@pytest.mark.full
@pytest.mark.parametrize("name", dict.fromkeys(NAMES))
def test_a_causal_model_that_runs_has_a_card(name):
    try:
        plan = Plan(getattr(transformers, name), {"num_hidden_layers": 4})
        model, inputs = plan.build(**run_sizes(plan.dims))
        model(*inputs)
    except Exception as error:
        pytest.skip(f"{type(error).__name__}: {error!s:.100}")
    card = measure(plan)
    assert card.parameters.value(card.run) == model.num_parameters()
