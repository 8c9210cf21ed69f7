import pytest
import torch

from world_models.learned import train


def test_same_seed_same_model_other_seed_another(rows) -> None:
    few = [row for row in rows if row.submission.task_id == "clean"]
    options = {"members": 2, "hidden": 8, "epochs": 2}
    state = torch.random.get_rng_state()
    first, again, other = (train(few, seed=seed, **options) for seed in (1, 1, 2))
    assert torch.equal(state, torch.random.get_rng_state())
    assert first.version == again.version != other.version
    batch = [row.submission for row in few[:5]]
    assert first.execute(batch) == again.execute(batch)


def test_training_sees_neither_the_test_part_nor_excluded_tasks(rows, tmp_path) -> None:
    seen = []
    model = train(
        rows,
        tmp_path / "out",
        exclude_tasks=["holes"],
        members=1,
        hidden=4,
        epochs=2,
        progress=lambda *x: seen.append(x),
    )
    assert seen == [(1, 2), (2, 2)]
    allowed = [row for row in rows if row.split == "train" and row.submission.task_id == "clean"]
    assert model.facts == {"seed": 0, "rows": len(allowed), "tasks": ["clean"]}
    assert (tmp_path / "out" / "model.safetensors").is_file()
    changed = [row if row in allowed else row._replace(outcome=rows[0].outcome) for row in rows]
    twin = train(changed, exclude_tasks=["holes"], members=1, hidden=4, epochs=2)
    assert twin.version == model.version


def test_bad_arguments(rows) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        train(rows, epochs=0)
    with pytest.raises(ValueError, match="at least 50"):
        train(rows[:40])
    with pytest.raises(FileNotFoundError):
        train("/no/such/file.parquet")
