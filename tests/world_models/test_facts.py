import gc
from dataclasses import replace

import numpy as np
import pytest

from tests.world_models.recordings import submission
from world_models import facts
from world_models.facts import FACTS_HASH, SOLUTION_FACTS, solution_facts


def test_facts_are_of_one_length_and_tell_solutions_and_tasks_apart() -> None:
    read = "import os\nimport pandas as pd\ntrain = pd.read_csv(os.environ['DATA_DIR'] + '/train.csv')\n"
    bare = [submission("clean"), submission("clean", depth=9), submission("holes")]
    rows = [replace(one, code=read + "X, y = train[['age']], train['y']\n" + one.code) for one in bare]
    facts = solution_facts(rows)
    assert facts.shape == (3, SOLUTION_FACTS) and facts.dtype == np.float32
    assert (facts[0] != facts[1]).any() and (facts[0] != facts[2]).any()
    assert (solution_facts(rows[::-1])[::-1] == facts).all()
    assert len(FACTS_HASH) == 64


@pytest.mark.parametrize("running", [True, False])
def test_the_garbage_collector_is_left_as_it_was(running: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(code: str) -> np.ndarray:
        assert not gc.isenabled()
        raise KeyError(code)

    before = gc.isenabled()
    (gc.enable if running else gc.disable)()
    try:
        solution_facts([submission("clean")])
        assert gc.isenabled() == running
        monkeypatch.setattr(facts, "code_features", broken)
        with pytest.raises(KeyError):
            solution_facts([submission("clean")])
        assert gc.isenabled() == running
    finally:
        (gc.enable if before else gc.disable)()
