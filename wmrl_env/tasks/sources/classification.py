"""Tables with a class to predict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wmrl_env.tasks.sources.base import Source, drop, package_file, rdata

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SOURCES"]


def _segments() -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(package_file("river", "river/datasets/segment.csv.zip"))


SOURCES = (
    Source(
        "churn",
        "Telco customer churn",
        "Predict which customers of a telephone company leave. Submit the probability that they do.",
        "binary", "roc_auc", "churn", rdata("modeldata", "wa_churn"), "train",
        "IBM sample data, R package modeldata", "MIT",
    ),
    Source(
        "credit",
        "Credit status of loan applicants",
        "Predict whether an applicant turns out a good credit risk. Submit the probability of a good status.",
        "binary", "roc_auc", "Status", rdata("modeldata", "credit_data"), "train",
        "L. A. Belanche Munoz, R package modeldata", "MIT",
    ),
    Source(
        "remote",
        "Remote work among developers",
        "Predict which respondents of the 2017 Stack Overflow survey work remotely (about one in ten). "
        "Submit the probability that they do.",
        "binary", "roc_auc", "Remote", rdata("modeldata", "stackoverflow"), "train",
        "Stack Overflow developer survey 2017 (ODbL), R package modeldata", "MIT",
    ),
    Source(
        "hpc",
        "Running time class of cluster jobs",
        "Predict how long a job on a cluster takes: very fast (VF), fast (F), moderate (M) or long (L).",
        "multiclass", "macro_f1", "class", rdata("modeldata", "hpc_data"), "train",
        "Kuhn and Johnson 2013, R package modeldata", "MIT",
    ),
    Source(
        "lending",
        "Loans that go bad",
        "Predict which loans of an online lender are repaid (about one in twenty is not). "
        "Submit the probability of a good loan.",
        "binary", "roc_auc", "Class", rdata("modeldata", "lending_club"), "heldout",
        "Lending Club, R package modeldata", "MIT", max_rows=6000,
    ),
    Source(
        "caravan",
        "Buyers of caravan insurance",
        "Predict which households buy a caravan insurance policy (about one in seventeen does) from the make-up of "
        "their neighbourhood and the policies they hold. Submit the probability that they do.",
        "binary", "roc_auc", "Purchase", rdata("ISLR", "Caravan"), "train",
        "Sentient Machine Research, CoIL Challenge 2000, R package ISLR", "GPL-2",
    ),
    Source(
        "attrition",
        "Employees who leave",
        "Predict which employees quit (about one in six). Submit the probability that they do; it is judged by how "
        "well it is calibrated.",
        "binary", "log_loss", "Attrition", rdata("modeldata", "attrition"), "train",
        "IBM Watson Analytics Lab, R package modeldata", "MIT",
    ),
    Source(
        "segment",
        "What an image segment shows",
        "Predict from measurements of colour and texture whether a patch of an outdoor photograph shows brickface, "
        "sky, foliage, cement, window, path or grass.",
        "multiclass", "accuracy", "category", _segments, "train",
        "Vision Group, University of Massachusetts 1990 (UCI), Python package river", "BSD-3-Clause",
    ),
    Source(
        "alevel",
        "A-level grades in chemistry",
        "Predict a pupil's A-level score in chemistry (0, 2, 4, 6, 8 or 10) from earlier school results. "
        "Large errors are punished more than small ones.",
        "multiclass", "quadratic_kappa", "score", rdata("mlmRev", "Chem97"), "train",
        "Yang and Woodhouse 2001, R package mlmRev", "GPL-2", max_rows=6000, select=drop("student", "gcsecnt"),
    ),
    Source(
        "plebiscite",
        "Votes in the Chilean plebiscite of 1988",
        "Predict how a person means to vote: yes (Y), no (N), undecided (U) or abstain (A).",
        "multiclass", "macro_f1", "vote", rdata("carData", "Chile"), "train",
        "FLACSO/Chile 1988, R package carData", "GPL-2",
    ),
    Source(
        "cells",
        "Well segmented cells",
        "Predict whether the image of a cell was segmented well (WS) or poorly (PS) from the measurements that the "
        "microscope's software made of it. Submit the probability of WS.",
        "binary", "roc_auc", "class", rdata("modeldata", "cells"), "heldout",
        "Hill et al. 2007, R package modeldata", "MIT", select=drop("case"),
    ),
    Source(
        "leaf",
        "Species of leaves",
        "Predict the species of a plant from measurements of the shape and texture of one leaf.",
        "multiclass", "macro_f1", "species", rdata("modeldata", "leaf_id_flavia"), "heldout",
        "Wu et al. 2007 (Flavia), R package modeldata", "MIT",
    ),
)  # fmt: skip
