"""Tables with an amount to predict."""

from __future__ import annotations

from wmrl_env.tasks.sources.base import Source, drop, rdata

__all__ = ["SOURCES"]


SOURCES = (
    Source(
        "ames",
        "House prices in Ames, Iowa",
        "Predict the sale price of a house from its assessment.",
        "regression", "rmsle", "Sale_Price", rdata("modeldata", "ames"), "train",
        "D. De Cock 2011, R package modeldata", "MIT",
    ),
    Source(
        "diamonds",
        "Prices of diamonds",
        "Predict the price of a round-cut diamond in US dollars.",
        "regression", "mae", "price", rdata("ggplot2", "diamonds"), "train",
        "R package ggplot2", "MIT", max_rows=5000,
    ),
    Source(
        "interest",
        "Interest rates of peer-to-peer loans",
        "Predict the interest rate (per cent) that a lending platform asks of an applicant.",
        "regression", "rmse", "interest_rate", rdata("openintro", "loans_full_schema"), "heldout",
        "Lending Club, R package openintro", "GPL-3", max_rows=5000,
        select=drop(
            "grade", "sub_grade", "installment", "balance", "paid_total", "paid_principal", "paid_interest",
            "paid_late_fees", "emp_title", "issue_month", "loan_status",
        ),
    ),
)  # fmt: skip
