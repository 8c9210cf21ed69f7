"""Tables with a count or a duration to predict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wmrl_env.tasks.sources.base import Source, drop, rdata

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SOURCES"]


def _one_row_a_person(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop_duplicates(subset="id").drop(columns=["id", "edlevel1", "edlevel2", "edlevel3", "edlevel4"])


SOURCES = (
    Source(
        "visits",
        "Physician office visits of the elderly",
        "Predict the expected number of visits to a physician's office. Predictions must be positive.",
        "counts", "poisson_deviance", "visits", rdata("AER", "NMES1988"), "train",
        "Deb and Trivedi 1997, R package AER", "GPL-2", select=drop("nvisits", "ovisits", "novisits"),
    ),
    Source(
        "doctor",
        "Doctor visits in German households",
        "Predict the number of visits to a doctor in three months.",
        "counts", "mae", "docvis", rdata("COUNT", "rwm5yr"), "heldout",
        "German Socio-Economic Panel, R package COUNT", "GPL-2", select=_one_row_a_person,
    ),
)  # fmt: skip
