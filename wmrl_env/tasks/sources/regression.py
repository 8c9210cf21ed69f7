"""Tables with an amount to predict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wmrl_env.tasks.sources.base import Source, drop, rdata

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SOURCES"]


def _fares_of_2000(frame: pd.DataFrame) -> pd.DataFrame:
    """One row a route, since its fare hardly changes from year to year."""
    return frame.loc[frame["year"] == 2000, ["dist", "passen", "bmktshr", "fare"]]


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
    Source(
        "concrete",
        "Strength of concrete",
        "Predict the compressive strength (MPa) of a concrete mixture from its ingredients and age.",
        "regression", "r2", "compressive_strength", rdata("modeldata", "concrete"), "train",
        "Yeh 1998 (UCI), R package modeldata", "MIT",
    ),
    Source(
        "delivery",
        "Time to deliver food",
        "Predict how many minutes pass between an order and its delivery. The columns item_01 to item_27 count what "
        "was ordered.",
        "regression", "rmse", "time_to_delivery", rdata("modeldata", "deliveries"), "train",
        "Kuhn and Johnson, R package modeldata", "MIT", max_rows=6000,
    ),
    Source(
        "computers",
        "Prices of personal computers",
        "Predict the price (US dollars) of a personal computer of the nineties. Errors count relative to the price.",
        "regression", "mape", "price", rdata("Ecdat", "Computers"), "train",
        "Stengos and Zacharias 2005, R package Ecdat", "GPL-2",
    ),
    Source(
        "movies",
        "Ratings of films",
        "Predict the mean rating (1 to 10) that a film got from the users of IMDb. Most budgets are unknown.",
        "regression", "rmse", "rating", rdata("ggplot2movies", "movies"), "train",
        "IMDb, R package ggplot2movies", "GPL-3", max_rows=6000, select=drop("title", *(f"r{i}" for i in range(1, 11))),
    ),
    Source(
        "wages",
        "Weekly wages",
        "Predict the weekly wage (US dollars) of a man in the Current Population Survey of 1988.",
        "regression", "mae", "wage", rdata("AER", "CPS1988"), "train",
        "US Census Bureau, R package AER", "GPL-2", max_rows=6000,
    ),
    Source(
        "mileage",
        "Fuel economy of cars",
        "Predict the combined fuel economy (miles a gallon) of cars of model year 2021.",
        "regression", "rmse", "comb_mpg", rdata("openintro", "epa2021"), "train",
        "US Environmental Protection Agency, R package openintro", "GPL-3",
        select=drop(
            "city_mpg", "hwy_mpg", "guzzler", "model_yr", "mfr_code", "carline", "model_type_index", "fuel_cell",
            "drive_desc", "fuel_usage_desc", "air_aspir_method_desc", "transmission_desc", "release_date",
        ),
    ),
    Source(
        "birthweight",
        "Weight of newborns",
        "Predict the weight of a newborn (ounces) from the pregnancy and what is known of the parents.",
        "regression", "rmse", "wt", rdata("mosaicData", "Gestation"), "train",
        "Child Health and Development Studies, R package mosaicData", "GPL-2",
        select=drop("id", "plurality", "outcome", "date"),
    ),
    Source(
        "airfare",
        "Fares of US air routes",
        "Predict the average one-way fare (US dollars) of an air route in the year 2000.",
        "regression", "mae", "fare", rdata("wooldridge", "airfare"), "heldout",
        "US Department of Transportation, R package wooldridge", "GPL-3", select=_fares_of_2000,
    ),
)  # fmt: skip
