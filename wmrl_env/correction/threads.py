"""Small linear algebra, on one thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]


@cache
def _blas() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - brings a BLAS of its own

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """NumPy and SciPy compute on one thread here.

    Between busy cores, as of sandbox workers, the threads of a BLAS wait for each other: solving 128 equations then
    takes milliseconds instead of a tenth of one.
    """
    with _blas().limit(limits=1):
        yield
