import pytest
import scipy.linalg  # noqa: F401 - its BLAS would come unlimited
from threadpoolctl import threadpool_info, threadpool_limits

from wmrl_env.correction.threads import one_blas_thread


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize("before", [1, 2])
def test_blas_computes_on_one_thread_inside_and_on_as_many_as_before_after(before: int) -> None:
    with threadpool_limits(before, user_api="blas"):
        with one_blas_thread(), one_blas_thread():
            assert threads() == {1}
        assert threads() == {before}


def test_an_error_inside_brings_the_threads_back() -> None:
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            1 / 0  # noqa: B018
        assert threads() == {2}
