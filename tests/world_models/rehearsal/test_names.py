import pytest

from world_models.rehearsal.build import describe_arrays, describe_library
from world_models.rehearsal.names import attributes_of, is_installed, names_in, options_of, parameters_of


def test_the_table_is_that_of_the_libraries() -> None:
    described = describe_library()
    assert "LogisticRegression" in described["modules"]["sklearn.linear_model"]
    assert "max_depth" in described["parameters"]["RandomForestClassifier"]
    assert "gini" in described["options"]["RandomForestClassifier"]["criterion"]
    assert not any("._" in name for name in described["modules"])
    arrays = describe_arrays()
    assert "fillna" in arrays["attributes"]["DataFrame"] and "float" not in arrays["modules"]["numpy"]


def test_names_parameters_and_words_are_known() -> None:
    assert "Ridge" in (names_in("sklearn.linear_model") or ()) and names_in("os") is None
    assert "alpha" in (parameters_of("Ridge") or ()) and parameters_of("nonesuch") is None
    assert "squared_error" in options_of("RandomForestRegressor")["criterion"] and options_of("nonesuch") == {}
    assert "append" not in (attributes_of("DataFrame") or ())


@pytest.mark.parametrize(
    ("module", "there"),
    [("json", True), ("numpy.linalg", True), ("sklearn.svm", True), ("sklearn.models", False), ("xgboost", False)],
)
def test_what_can_be_imported_is_known(module: str, there: bool) -> None:
    assert is_installed(module) is there
