"""Prose to be classified or rated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wmrl_env.tasks.sources.base import Source, rdata

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SOURCES"]


def _reviews() -> pd.DataFrame:
    import pandas as pd

    parts = (rdata("modeldata", part)() for part in ("training_data", "testing_data"))
    return pd.concat(parts)[["review", "score"]]


def _phones(frame: pd.DataFrame) -> pd.DataFrame:
    devices = {"Twitter for Android": "Android", "Twitter for iPhone": "iPhone"}
    frame = frame[frame["source"].isin(list(devices)) & ~frame["is_retweet"].astype(bool)]
    return frame.assign(device=frame["source"].map(devices))[["text", "device"]]


def _campaign(frame: pd.DataFrame) -> pd.DataFrame:
    """Since the campaign began, when the number of followers rose less steeply than before."""
    frame = frame[(frame["created_at"].astype(str) >= "2015-06") & ~frame["is_retweet"].astype(bool)]
    return frame[["text", "retweet_count"]]


def _levels(frame: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    bounds, names = [0, 99, 199, 10_000], ["lower division", "upper division", "graduate"]
    level = pd.cut(frame["course_numeric"], bounds, labels=names).astype(object)
    return frame.assign(level=level)[["subject", "course", "level"]]


def _strikes(frame: pd.DataFrame) -> pd.DataFrame:
    # Height and speed would tell the phase without the remarks.
    frame = frame[~frame["phase_of_flt"].isin(["Taxi", "Parked"])]
    return frame[["atype", "ac_mass", "num_engs", "time_of_day", "sky", "species", "effect", "remarks", "phase_of_flt"]]


SOURCES = (
    Source(
        "foods",
        "Reviews of fine foods",
        "Predict whether a review gives a food five stars (great) or fewer (other). Submit the probability of other.",
        "binary", "roc_auc", "score", _reviews, "train",
        "McAuley and Leskovec 2013, Amazon, R package modeldata", "MIT",
        modality="text", text_columns=("review",),
    ),
    Source(
        "device",
        "Which telephone a tweet was written on",
        "Predict whether a tweet of Donald Trump's account came from an Android telephone or an iPhone.",
        "binary", "accuracy", "device", rdata("dslabs", "trump_tweets"), "train",
        "Trump Twitter Archive, R package dslabs", "Artistic-2.0", select=_phones, max_rows=5000,
        modality="text", text_columns=("text",),
    ),
    Source(
        "retweets",
        "How often a tweet is passed on",
        "Predict how often a tweet of Donald Trump's account was retweeted, from its text alone.",
        "counts", "rmsle", "retweet_count", rdata("dslabs", "trump_tweets"), "train",
        "Trump Twitter Archive, R package dslabs", "Artistic-2.0", select=_campaign, max_rows=5000,
        modality="text", text_columns=("text",),
    ),
    Source(
        "courses",
        "Levels of university courses",
        "Predict from its subject and title whether a course at UCLA is lower division, upper division or graduate.",
        "multiclass", "macro_f1", "level", rdata("openintro", "ucla_f18"), "train",
        "University of California, Los Angeles, R package openintro", "GPL-3", select=_levels,
        modality="text", text_columns=("course",),
    ),
    Source(
        "tate",
        "Years of works of art",
        "Predict the year in which a work of art in the Tate collection was made.",
        "regression", "mae", "year", rdata("modeldata", "tate_text"), "heldout",
        "Tate Gallery, R package modeldata", "MIT", select=lambda frame: frame.drop(columns="id"),
        modality="text", text_columns=("title", "medium"),
    ),
    Source(
        "birds",
        "Phase of flight in which birds were struck",
        "Predict in which phase of its flight an aircraft struck birds, from the report's remarks and circumstances.",
        "multiclass", "macro_f1", "phase_of_flt", rdata("openintro", "birds"), "heldout",
        "US Federal Aviation Administration, R package openintro", "GPL-3", select=_strikes, max_rows=6000,
        modality="text", text_columns=("remarks",),
    ),
)  # fmt: skip
