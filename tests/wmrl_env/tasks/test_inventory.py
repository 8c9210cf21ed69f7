"""The inventory says what a careless author must know, in lines that can be parsed."""

import pandas as pd

from wmrl_env.tasks.inventory import describe, sample_rows
from world_models.features import TASK_FEATURE_NAMES, task_features


def frames():
    train = pd.DataFrame(
        {"row_id": [0, 1, 2], "size": [1.5, 2.0, 3.0], "town": ["Bern", None, "x, y | z"], "y": [1, 2, 6]}
    )
    test = pd.DataFrame({"row_id": [3], "size": [None], "town": ["Bern"]}).astype({"size": float})
    return train, test


def test_a_value_missing_in_either_half_shows():
    text = describe(*frames(), "y", "row_id", ())
    assert "size: float, missing 25.00%, unique 3, min 1.5, max 3" in text
    assert "town: text, missing 25.00%, unique 2, e.g. Bern | x; y / z" in text
    assert "Target range: 1 to 6, mean 3, skew" in text
    assert "train.csv: 3 rows, 4 columns\ntest.csv: 1 rows, 3 columns" in text


def test_classes_come_with_their_shares_and_the_positive_one():
    train, test = frames()
    train["y"] = ["no", "yes", "no"]
    text = describe(train, test, "y", "row_id", ("no", "yes"))
    assert text.startswith("Classes: no 0.667, yes 0.333\nPositive class: yes\n")


def test_many_columns_are_counted_instead_of_listed():
    wide = pd.DataFrame({"row_id": [0, 1], "y": [1, 2], **{f"c{i}x": [0, 1] for i in range(130)}})
    assert describe(wide, wide.drop(columns="y"), "y", "row_id", ()).endswith("... and 10 more columns")


def test_numbered_columns_share_a_line():
    pixels = pd.DataFrame({"row_id": [0, 1], "y": [1, 2], "age": [3, 4], **{f"p{i}": [i, 0] for i in range(64)}})
    text = describe(pixels, pixels.drop(columns="y"), "y", "row_id", ())
    assert text.endswith("age: int, missing 0.00%, unique 2, min 3, max 4\n"
                         "p0..p63 (64 columns): int, missing 0.00%, unique 64, min 0, max 63")  # fmt: skip


def test_sample_rows_are_few_and_short():
    frame = pd.DataFrame({"a": ["x" * 99, "y", "z", "w"], **{f"c{i}": [1.5, None, 2, 3] for i in range(40)}})
    lines = sample_rows(frame).splitlines()
    assert len(lines) == 4 and lines[0].endswith("c28,...") and lines[1].startswith("x" * 21 + "...,1.5,")
    assert lines[2].startswith("y,,,")


def test_world_models_read_what_is_written():
    text = "Kind: regression\nMetric: rmse (lower is better)\n" + describe(*frames(), "y", "row_id", ())
    features = dict(zip(TASK_FEATURE_NAMES, task_features(text).tolist(), strict=True))
    assert features["recognised"] == features["kind=regression"] == features["any_missing_text"] == 1.0
    assert features["max_missing"] == 0.25
