"""Tables with a class to predict."""

from __future__ import annotations

from wmrl_env.tasks.sources.base import Source, rdata

__all__ = ["SOURCES"]


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
)  # fmt: skip
