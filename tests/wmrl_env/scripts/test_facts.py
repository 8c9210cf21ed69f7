from wmrl_env import tasks
from wmrl_env.scripts.facts import facts_of


def test_columns_are_told_apart_by_what_an_author_does_with_them():
    churn = facts_of(tasks.get("churn"))
    assert "tenure" in churn.numeric and "contract" in churn.categories and churn.classifies and churn.wants_probability
    foods = facts_of(tasks.get("foods"))
    assert foods.categories == () and foods.numeric == ()
    births = facts_of(tasks.get("births"))
    assert births.categories == ("wday",) and not births.classifies
    assert facts_of(tasks.get("mnist")).numeric == ()  # pixels are no columns that one names
