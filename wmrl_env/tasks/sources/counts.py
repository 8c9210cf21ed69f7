"""Tables with a count or a duration to predict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wmrl_env.tasks.sources.base import Source, drop, rdata

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SOURCES"]


def _one_row_a_person(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop_duplicates(subset="id").drop(columns=["id", "edlevel1", "edlevel2", "edlevel3", "edlevel4"])


def _ended_spells(frame: pd.DataFrame) -> pd.DataFrame:
    """Spells whose end was seen; how they ended is not known beforehand."""
    return frame[frame["censor4"] == 0].drop(columns=["censor1", "censor2", "censor3", "censor4"])


def _first_year(frame: pd.DataFrame) -> pd.DataFrame:
    """One row a person: the plan, the household and health at the start; what care cost is part of the answer."""
    known = ["plan", "site", "coins", "tookphys", "black", "income", "xage", "female", "educdec", "num", "mhi", "disea",
             "physlm", "ghindx", "mdeoff", "pioff", "child", "fchild", "mdvis"]  # fmt: skip
    return frame[frame["year"] == 1].drop_duplicates(subset="zper")[known]


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
    Source(
        "jobless",
        "How long unemployment lasts",
        "Predict for how many periods of two weeks a displaced worker stays without a job.",
        "counts", "rmsle", "spell", rdata("Ecdat", "UnempDur"), "heldout",
        "McCall 1996, R package Ecdat", "GPL-2", select=_ended_spells,
    ),
    Source(
        "insurance",
        "Outpatient visits under a health insurance plan",
        "Predict the expected number of outpatient visits in the first year of the RAND Health Insurance Experiment. "
        "Predictions must be positive.",
        "counts", "poisson_deviance", "mdvis", rdata("sampleSelection", "RandHIE"), "train",
        "RAND Corporation, R package sampleSelection", "GPL-2", select=_first_year,
    ),
)  # fmt: skip
