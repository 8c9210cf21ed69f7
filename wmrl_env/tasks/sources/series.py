"""Rows in the order of time, the last of which are to be predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wmrl_env.tasks.sources.base import Source, rdata

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SOURCES"]


def _hourly_demand(frame: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    half_hours = pd.date_range("2014-01-01", periods=len(frame), freq="30min")
    frame = frame.assign(time=half_hours.strftime("%Y-%m-%d %H:%M")).rename(columns=str.lower)
    return frame.loc[half_hours.minute == 0, ["time", "workday", "temperature", "demand"]]


def _births(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["date", "wday", "births"]]


def _measles(frame: pd.DataFrame) -> pd.DataFrame:
    """Years before the vaccine, whole ones by state."""
    frame = frame[(frame["disease"] == "Measles") & (frame["year"] < 1964) & (frame["weeks_reporting"] > 40)]
    frame = frame.assign(date=frame["year"].astype(str) + "-01-01", count=frame["count"].astype(int))
    return frame[["date", "state", "population", "count"]]


def _room_rates(frame: pd.DataFrame) -> pd.DataFrame:
    # What was assigned on arrival is not known when a room is booked.
    late = ["arrival_date_num", "assigned_room_type", "booking_changes", "required_car_parking_spaces"]
    return frame.drop(columns=late).sort_values("arrival_date", kind="stable").iloc[::3]  # a whole year is left


def _temperatures(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.loc[frame["date"].astype(str) >= "2005", ["date", "tmax"]]


def _pizzas_an_hour(frame: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    sold = pd.to_datetime(frame["date"].astype(str) + " " + frame["time"].astype(str)).dt.floor("h")
    counts = sold[sold.dt.hour.between(11, 22)].value_counts()
    opened = pd.DatetimeIndex(sold.dt.normalize().unique())
    hours = pd.DatetimeIndex(sorted(day + pd.Timedelta(hours=hour) for day in opened for hour in range(11, 23)))
    frame = pd.DataFrame({"time": hours, "pizzas": counts.reindex(hours, fill_value=0).to_numpy()})
    return frame.assign(weekday=hours.day_name(), time=hours.strftime("%Y-%m-%d %H:%M"))[["time", "weekday", "pizzas"]]


def _home_sales(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame[frame["year"] >= 2004]
    date = frame["year"].astype(str) + "-" + frame["month"].astype(str).str.zfill(2) + "-01"
    return frame.assign(date=date)[["date", "city", "sales"]]


SOURCES = (
    Source(
        "electricity",
        "Demand for electricity in Victoria",
        "Forecast the demand for electricity (GW) in Victoria, Australia, for hours that come after the training data. "
        "Working days and the temperature (degrees Celsius) are known.",
        "regression", "rmse", "demand", rdata("fpp2", "elecdemand"), "train",
        "Australian Energy Market Operator 2014, R package fpp2", "GPL-3", select=_hourly_demand,
        modality="series", time_column="time", max_rows=7500,
    ),
    Source(
        "births",
        "Daily births in the USA",
        "Forecast the number of births in the USA on days that come after the training data.",
        "regression", "mape", "births", rdata("mosaicData", "Births"), "train",
        "US National Center for Health Statistics, R package mosaicData", "GPL-2", select=_births,
        modality="series", time_column="date",
    ),
    Source(
        "measles",
        "Measles before the vaccine",
        "Forecast how many cases of measles a US state reports in a year that comes after the training data.",
        "counts", "rmsle", "count", rdata("dslabs", "us_contagious_diseases"), "train",
        "Tycho Project, R package dslabs", "Artistic-2.0", select=_measles, modality="series", time_column="date",
    ),
    Source(
        "hotel",
        "Room rates of a hotel",
        "Forecast the average price of a room a night for arrivals that come after the training data.",
        "regression", "r2", "avg_price_per_room", rdata("modeldata", "hotel_rates"), "train",
        "Antonio, de Almeida and Nunes 2019, R package modeldata", "MIT", select=_room_rates,
        modality="series", time_column="arrival_date",
    ),
    Source(
        "heat",
        "Daily highs in Clemson",
        "Forecast the highest temperature (degrees Fahrenheit) of days that come after the training data.",
        "regression", "mae", "tmax", rdata("stevedata", "clemson_temps"), "train",
        "US National Oceanic and Atmospheric Administration, R package stevedata", "GPL-2", select=_temperatures,
        modality="series", time_column="date",
    ),
    Source(
        "pizza",
        "Pizzas sold an hour",
        "Forecast how many pizzas a shop sells in hours that come after the training data.",
        "counts", "mae", "pizzas", rdata("gt", "pizzaplace"), "heldout",
        "A pizza shop in 2015, R package gt", "MIT", select=_pizzas_an_hour, modality="series", time_column="time",
    ),
    Source(
        "homesales",
        "Home sales in Texas",
        "Forecast how many homes are sold in a city of Texas in months that come after the training data.",
        "counts", "rmsle", "sales", rdata("ggplot2", "txhousing"), "heldout",
        "Real Estate Center at Texas A&M University, R package ggplot2", "MIT", select=_home_sales,
        modality="series", time_column="date",
    ),
)  # fmt: skip
