"""Pipeline decisions and the solutions they stand for."""

import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_env import pipeline, tasks

ALL = tasks.list()
actions = st.tuples(*(st.integers(0, n - 1) for n in pipeline.NVEC))


@given(action=actions, task=st.sampled_from(ALL))
def test_every_action_is_a_program_that_reads_and_writes_the_agreed_places(action, task):
    code = pipeline.render(action, task)
    ast.parse(code)
    assert 'os.environ["DATA_DIR"]' in code and 'os.environ["SUBMISSION_PATH"]' in code
    assert code == pipeline.render(np.array(action), task)
    assert max(map(len, code.splitlines())) <= 160


@given(action=actions)
def test_decisions_show_in_the_source(action):
    code, choices = pipeline.render(action, tasks.get("churn")), pipeline.decode(action)
    assert ("OneHotEncoder" in code) == (choices["encoding"] == "onehot")
    assert ("dropna" in code) == (choices["imputation"] == "drop_rows")
    assert ("PolynomialFeatures" in code) == (choices["features"] == "polynomial")
    assert ("predict_proba" in code) == (choices["output"] == "probabilities")
    assert ("KFold" in code) == (choices["ensembling"] == "bagging")


def test_decisions_are_about_ten_with_at_least_eight_models():
    assert len(pipeline.NVEC) == len(pipeline.DECISIONS) == 11
    assert len(next(d for d in pipeline.DECISIONS if d.name == "model").options) >= 8


def test_distinct_actions_mostly_give_distinct_solutions():
    rng = np.random.default_rng(0)
    for task in ALL:
        drawn = {tuple(action) for action in pipeline.sample(rng, 300)}
        assert len({pipeline.render(action, task) for action in drawn}) > 0.85 * len(drawn)


@pytest.mark.parametrize("action", [(), (0,) * 10, (99,) + (0,) * 10, (-1,) + (0,) * 10])
def test_what_is_no_action_is_refused(action):
    with pytest.raises(ValueError, match=r"pipeline action|must lie in"):
        pipeline.render(action, ALL[0])


def test_draws_are_seeded_and_careful_ones_avoid_known_mistakes():
    for task in ALL:
        first, second = (pipeline.competent(np.random.default_rng(3), task, 50) for _ in range(2))
        np.testing.assert_array_equal(first, second)
        for action in first:
            choices = pipeline.decode(action)
            assert choices["encoding"] != "none" and choices["imputation"] not in ("none", "drop_rows")
            assert (choices["output"] == "probabilities") == (task.metric_object.prediction == "probability")
            if not task.classes:
                assert choices["class_weight"] == "none"
    np.testing.assert_array_equal(
        pipeline.competent(np.random.default_rng(3), ALL[0], 5, care=0.0).shape, (5, len(pipeline.NVEC))
    )
    with pytest.raises(ValueError, match="care"):
        pipeline.competent(np.random.default_rng(0), ALL[0], 1, care=2)


def choose(**wanted: str) -> list[int]:
    return [
        decision.options.index(wanted[decision.name]) if decision.name in wanted else 0
        for decision in pipeline.DECISIONS
    ]


def test_prose_is_vectorised_or_left_to_fail():
    foods = tasks.get("foods")
    assert "TfidfVectorizer" in pipeline.render(choose(encoding="ordinal"), foods)
    assert '(words, "review")' in pipeline.render(choose(encoding="onehot"), foods)
    assert '("passthrough", ["review"])' in pipeline.render(choose(encoding="none"), foods)
    assert '"review")' not in pipeline.render(choose(encoding="drop_text"), foods)
    assert 'fillna("")' in pipeline.render(choose(imputation="mean"), foods)
    assert "fillna" not in pipeline.render(choose(imputation="none"), foods)


def test_times_become_a_trend_and_seasons():
    code = pipeline.render(choose(), tasks.get("births"))
    assert 'pd.to_datetime(frame.pop("date"))' in code and '"day_of_year"' in code
    assert "to_datetime" not in pipeline.render(choose(), tasks.get("churn"))


def test_labels_are_submitted_where_labels_are_wanted():
    code = pipeline.render(choose(output="predictions"), tasks.get("device"))  # two classes, judged by accuracy
    assert "prediction = output\n" in code
    vote = pipeline.render(choose(output="predictions"), tasks.get("churn"))
    assert 'prediction = (output == "Yes").astype(int)' in vote


def test_careful_authors_leave_pixels_unsquared_and_prose_in():
    polynomial = next(d for d in pipeline.DECISIONS if d.name == "features").options.index("polynomial")
    column = [d.name for d in pipeline.DECISIONS].index("features")
    assert polynomial not in pipeline.competent(np.random.default_rng(0), tasks.get("digits"), 200)[:, column]
    encodings = {
        pipeline.decode(a)["encoding"] for a in pipeline.competent(np.random.default_rng(0), tasks.get("foods"), 99)
    }
    assert encodings == {"ordinal", "onehot"}
