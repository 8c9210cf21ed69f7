import ast
import importlib
import inspect

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from wmrl_env.scripts.models import draw_model


@settings(deadline=None)  # the first draw imports the library
@given(seed=st.integers(0, 2**32 - 1), classifies=st.booleans(), positive=st.booleans())
def test_every_model_exists_and_takes_its_arguments(seed, classifies, positive):
    positive = positive and not classifies
    model = draw_model(np.random.default_rng(seed), classifies, positive)
    assert model == draw_model(np.random.default_rng(seed), classifies, positive)
    estimator = getattr(importlib.import_module(model.module), model.name)
    assert set(model.arguments) <= set(inspect.signature(estimator).parameters)
    assert hasattr(estimator, "predict_proba") == model.probabilistic or not classifies
    ast.parse(model.call)
