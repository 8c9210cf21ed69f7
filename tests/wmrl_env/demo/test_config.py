from dataclasses import replace

import pytest

from wmrl_env.demo import ARMS, DemoConfig


@pytest.mark.parametrize("name", ["seconds", "seeds", "max_turns", "workers", "torch_threads", "episodes"])
def test_settings_must_be_positive(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be positive, got 0"):
        DemoConfig(**{name: 0})


def test_training_fits_the_time_that_is_promised() -> None:
    full, quick = DemoConfig(), DemoConfig.quick()
    assert len(ARMS) * full.seeds * full.seconds < 12 * 60
    assert len(ARMS) * quick.seeds * quick.seconds < 3 * 60


def test_key_tells_every_setting_apart() -> None:
    config = DemoConfig.quick(seed=3)
    assert config.seed == 3
    assert config.key == DemoConfig.quick(seed=3).key
    assert config.key != replace(config, fraction=0.5).key
    assert config.key != replace(config, predicted=replace(config.predicted, n_steps=1)).key
