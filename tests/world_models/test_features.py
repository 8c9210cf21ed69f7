import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world_models.recordings import TASKS, submission
from world_models.features import CODE_FEATURES, TASK_FEATURE_NAMES, code_features, task_features


def named(text: str) -> dict[str, float]:
    return dict(zip(TASK_FEATURE_NAMES, task_features(text).tolist(), strict=True))


def test_task_facts_are_read_from_the_text() -> None:
    facts = named(TASKS["holes"])
    expected = {
        "recognised": 1.0,
        "kind=binary": 1.0,
        "kind=counts": 0.0,
        "metric=roc_auc": 1.0,
        "higher_is_better": 1.0,
        "log_train_rows": np.log10(1001),
        "log_cpu_limit": np.log10(11),
        "share_text": 1 / 3,
        "any_missing_numeric": 1.0,
        "any_missing_text": 0.0,
        "share_missing_numeric": 0.0625,
        "max_missing": 0.125,
        "any_negative": 1.0,
        "log_max_magnitude": 6.0,
        "classes": 2.0,
        "minority_share": 0.3,
        "numeric_classes": 0.0,
        "log_text_values": np.log10(4),
        "fewer_than_ten_columns": 1.0,
    }
    assert {name: facts[name] for name in expected} == pytest.approx(expected, rel=1e-4)


def test_target_of_a_regression() -> None:
    text = (
        TASKS["clean"]
        .replace("Kind: binary", "Kind: counts")
        .replace("Classes: no 0.700, yes 0.300", "Target range: 0 to 99, mean 9, skew -9")
    )
    facts = named(text)
    assert facts["log_target_max"] == 2.0 and facts["log_target_mean"] == 1.0 and facts["target_skew"] == -1.0
    assert facts["target_has_zero"] == 1.0 and facts["target_has_negative"] == 0.0 and facts["classes"] == 0.0


def test_columns_that_share_a_line_count_each() -> None:
    text = TASKS["clean"].replace(
        "## Columns", "## Columns\np0..p63 (64 columns): int, missing 0.00%, unique 17, min 0, max 16"
    )
    before, after = named(TASKS["clean"]), named(text.replace("Kind:", "Modality: image\nKind:"))
    assert 10 ** after["log_int_columns"] == pytest.approx(10 ** before["log_int_columns"] + 64, rel=1e-4)
    assert after["fewer_than_ten_columns"] == 0.0
    assert (before["modality=tabular"], after["modality=tabular"], after["modality=image"]) == (1.0, 0.0, 1.0)


def test_classes_that_are_numbers() -> None:
    assert named(TASKS["clean"].replace("no 0.700, yes 0.300", "0 0.700, 1 0.300"))["numeric_classes"] == 1.0


@given(
    st.text() | st.sampled_from(["Kind: binary\n", "x: int, missing 1%", "Kind: banana\nx: int, missing 1%, unique 3"])
)
def test_other_text_gives_zeros(text: str) -> None:
    features = task_features(text)
    assert features.shape == (len(TASK_FEATURE_NAMES),) and features.dtype == np.float32
    assert not features.any()


def test_broken_numbers_in_a_task_text_are_harmless() -> None:
    text = TASKS["clean"].replace("min 18, max 90", "min nan, max 1e999").replace("0.700", "0.7.0")
    assert np.isfinite(task_features(text)).all()


def test_every_real_task_is_recognised() -> None:
    from wmrl_env import tasks

    vectors = {task.id: task_features(task.text) for task in tasks.list()}
    assert all(vector[0] == 1.0 for vector in vectors.values())
    assert len({vector.tobytes() for vector in vectors.values()}) == len(vectors)


def test_code_features_tell_argument_values_apart() -> None:
    base = code_features(submission("clean").code)
    assert base.shape == (CODE_FEATURES,) and base.dtype == np.float32 and not base.flags.writeable
    for other in (submission("clean", trees=101), submission("clean", depth=5), submission("clean", imputed=False)):
        assert (code_features(other.code) != base).any()


def test_layout_and_comments_hardly_matter_but_the_end_of_a_long_source_does() -> None:
    code = "x = f(a=1)\n"
    tail = code + "y = 0\n" * 5000
    assert (code_features(tail + "g(b=2)\n") != code_features(tail + "g(b=3)\n")).any()
    assert (code_features("f(1)")[10:] == code_features("f( 1 )  # once")[10:]).all()


def test_names_of_columns_are_left_out() -> None:
    one = 'y = train.pop("churn")\nout = pd.DataFrame({"row_id": 1, "churn": y})\n'
    assert (code_features(one) == code_features(one.replace("churn", "price"))).all()


@given(st.text(max_size=60))
def test_any_text_has_finite_features(text: str) -> None:
    assert np.isfinite(code_features(text)).all()


@pytest.mark.parametrize(
    "code", ["f(" * 300, "\0", "x = '\ud800'", "f(x=1e999, y=" + "9" * 4000 + ", z=-" + "9" * 400 + ")"]
)
def test_strange_code_has_finite_features(code: str) -> None:
    assert np.isfinite(code_features(code)).all()


def test_same_in_every_process() -> None:
    code = submission("clean").code
    script = f"from world_models.features import code_features; print(code_features({code!r}).tobytes().hex())"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert bytes.fromhex(run.stdout.strip()) == code_features(code).tobytes()
