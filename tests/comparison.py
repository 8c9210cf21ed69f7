"""Equality of what environments return, whatever it is nested in."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_same(one: Any, other: Any, where: str = "data") -> None:
    """Types, keys, dtypes, shapes and values agree, NaN with NaN."""
    assert isinstance(one, type(other)) or isinstance(other, type(one)), f"{where}: {type(one)} and {type(other)}"
    if isinstance(one, dict):
        assert one.keys() == other.keys(), f"{where}: {one.keys() ^ other.keys()} on one side only"
        for key in one:
            assert_same(one[key], other[key], f"{where}[{key!r}]")
    elif isinstance(one, (tuple, list)) or (isinstance(one, np.ndarray) and one.dtype == object):
        assert len(one) == len(other), where
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, f"{where}: {one.dtype} and {other.dtype}"
        np.testing.assert_array_equal(one, other, err_msg=where)
    else:
        assert one == other or (one != one and other != other), f"{where}: {one!r} and {other!r}"
