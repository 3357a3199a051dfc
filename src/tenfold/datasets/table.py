"""Artificial tables of mixed types: numbers, levels, categories, dates, text, identifiers, and missing values.

The dependence of the target on the columns is known.
"""

import csv
import datetime
import math
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Floats

Columns: TypeAlias = dict[str, list[Any]]
"""Columns by name, with None where a value is missing; pandas.DataFrame and polars.DataFrame take it as it is."""

_GOOD = ("all fine", "very happy", "works well", "thanks for the help", "no complaints")
_BAD = ("too expensive", "slow support", "connection lost again", "please call back", "bill was wrong")
_BRIGHT = ("bright rooms", "quiet street", "new kitchen", "garden", "near the park")
_DIM = ("needs repair", "busy road", "dark basement", "old windows", "far from shops")
_CITIES = ("Aachen", "Bergen", "Cork", "Delft", "Evora", "Faro", "Ghent", "Hull", "Izola", "Jena", "Kiel", "Lund")


def make_table(
    n_samples: int = 1000,
    *,
    task: Literal["classification", "regression"] = "classification",
    missing: float = 0.03,
    random_state: Any = 0,
) -> Columns:
    """A table of customers, of whom some leave (`churned`, yes or no), or of houses and their `price`.

    Both have an identifier, a date, numbers, ordered levels, categories, free text, a constant column, and values that
    are missing: about a share `missing` of all but identifier, date and target, and more of one number. The identifier
    and the constant are uninformative, the text slightly informative.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples.
    task : {"classification", "regression"}, default="classification"
        Which of the two tables.
    missing : float, default=0.03
        Share of values that are missing.
    random_state : int, RandomState instance or None, default=0
        Seed of the draw.

    Returns
    -------
    dict of str to list
        Columns by name, None where a value is missing; dates as text (2024-03-01).

    Examples
    --------
    >>> from tenfold.datasets import make_table
    >>> table = make_table(1000)
    >>> list(table)  # doctest: +NORMALIZE_WHITESPACE
    ['customer', 'joined', 'age', 'plan', 'satisfaction', 'city', 'monthly_fee', 'calls', 'gigabytes', 'comment',
     'currency', 'churned']
    >>> round(table["churned"].count("yes") / 1000, 1)
    0.3
    """
    random = check_random_state(random_state)
    if task == "classification":
        table, may_miss = _customers(n_samples, random)
    elif task == "regression":
        table, may_miss = _houses(n_samples, random)
    else:
        raise ValueError(f"task must be 'classification' or 'regression'. Got {task!r}.")
    for name, factor in may_miss.items():
        missing_mask = random.uniform(size=n_samples) < factor * missing
        table[name] = [None if gone else value for gone, value in zip(missing_mask, table[name], strict=True)]
    return table


def load_demo(task: Literal["classification", "regression"] = "classification") -> tuple[Columns, str]:
    """The table of the demonstration, the same everywhere: its columns, and the name of the target.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        Which of the two tables: customers of whom some leave, or houses and their prices.

    Returns
    -------
    columns : dict of str to list
        The columns by name.
    target : str
        The name of the target.

    Examples
    --------
    >>> from tenfold.datasets import load_demo
    >>> table, target = load_demo()
    >>> target, len(table[target])
    ('churned', 1000)
    """
    return make_table(1000, task=task, random_state=0), "churned" if task == "classification" else "price"


def write_csv(columns: Columns, path: Any) -> Path:
    """Write columns to a CSV file, a missing value as nothing.

    Parameters
    ----------
    columns : dict of str to list
        Columns by name; None is a missing value.
    path : str or path
        The file to write.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from tenfold.datasets import make_table, write_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_csv(make_table(3, task="regression"), folder + "/houses.csv")
    ...     print(path.read_text(encoding="utf-8").splitlines()[0])
    house,sold,area,rooms,condition,district,built,heating,description,country,price
    """
    place = Path(path)
    with place.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(["" if v is None else v for v in column] for column in columns.values()), strict=True))
    return place


def _customers(n: int, random: np.random.RandomState) -> tuple[Columns, dict[str, float]]:
    age = np.clip(np.round(random.normal(44.0, 14.0, n)), 18, 90)
    plan = random.choice(3, n, p=[0.5, 0.35, 0.15])
    level = random.choice(3, n, p=[0.25, 0.45, 0.3])
    city = random.choice(len(_CITIES), n, p=_zipf_frequencies(len(_CITIES)))
    fee = np.round(np.array([15.0, 30.0, 60.0])[plan] * random.lognormal(0.0, 0.15, n), 2)
    calls = random.poisson(np.exp(0.9 - 0.5 * level))
    gigabytes = np.round(random.lognormal(np.array([1.0, 2.0, 3.0])[plan], 0.6), 1)
    days = random.randint(0, 5 * 365, n)
    score = -2.0 - 0.9 * (level - 1.0) + 0.35 * calls - 0.03 * (age - 44.0) + 0.012 * (fee - 25.0)
    score += 0.9 * (days > 4 * 365) + 0.5 * random.standard_normal(len(_CITIES))[city]
    churned = random.uniform(size=n) < 1.0 / (1.0 + np.exp(-score))
    unhappy = random.uniform(size=n) < np.where(churned, 0.65, 0.3)
    comments = _phrases(random, unhappy, _GOOD, _BAD)
    table: Columns = {
        "customer": [f"C{number:05d}" for number in random.permutation(n)],
        "joined": _dates(days, datetime.date(2019, 1, 1)),
        "age": [int(value) for value in age],
        "plan": [("basic", "plus", "pro")[k] for k in plan],
        "satisfaction": [("low", "medium", "high")[k] for k in level],
        "city": [_CITIES[k] for k in city],
        "monthly_fee": fee.tolist(),
        "calls": calls.tolist(),
        "gigabytes": gigabytes.tolist(),
        "comment": comments,
        "currency": ["EUR"] * n,
        "churned": ["yes" if value else "no" for value in churned],
    }
    return table, {"age": 1.0, "satisfaction": 1.0, "city": 0.5, "gigabytes": 4.0, "comment": 8.0, "plan": 0.3}


def _houses(n: int, random: np.random.RandomState) -> tuple[Columns, dict[str, float]]:
    area = np.round(random.lognormal(4.6, 0.35, n))
    rooms = np.clip(np.round(area / 28.0 + random.normal(0.0, 0.7, n)), 1, 12)
    condition = random.choice(4, n, p=[0.1, 0.3, 0.4, 0.2])
    district = random.choice(8, n, p=_zipf_frequencies(8))
    built = random.randint(1900, 2021, n)
    heating = random.choice(3, n, p=[0.6, 0.25, 0.15])
    days = random.randint(0, 6 * 365, n)
    worth = 7.9 + 0.85 * np.log(area) + 0.12 * (condition - 1.5) + 0.15 * random.standard_normal(8)[district]
    worth += 0.002 * (built - 1960) + 0.1 * (built < 1920) + np.array([0.0, 0.03, 0.08])[heating] + 1.2e-4 * days
    price = np.exp(worth + 0.12 * random.standard_normal(n))
    poor = random.uniform(size=n) < np.where(condition < 2, 0.7, 0.25)
    table: Columns = {
        "house": [f"H{number:05d}" for number in random.permutation(n)],
        "sold": _dates(days, datetime.date(2018, 1, 1)),
        "area": area.tolist(),
        "rooms": [int(value) for value in rooms],
        "condition": [("poor", "fair", "good", "excellent")[k] for k in condition],
        "district": [f"district {k + 1}" for k in district],
        "built": built.tolist(),
        "heating": [("gas", "electric", "heat pump")[k] for k in heating],
        "description": _phrases(random, poor, _BRIGHT, _DIM),
        "country": ["NL"] * n,
        "price": [float(round(value, -2)) for value in price],
    }
    return table, {"area": 0.5, "rooms": 1.0, "condition": 1.0, "built": 4.0, "heating": 1.0, "description": 6.0}


def _zipf_frequencies(count: int) -> Floats:
    """Frequencies proportional to 1 / rank."""
    shares = 1.0 / np.arange(1.0, count + 1.0)
    return np.asarray(shares / np.sum(shares))


def _dates(days: Any, first: datetime.date) -> list[str]:
    return [(first + datetime.timedelta(days=int(day))).isoformat() for day in days]


def _phrases(random: np.random.RandomState, second: Any, good: tuple[str, ...], bad: tuple[str, ...]) -> list[str]:
    """One or two phrases per sample, of the second kind where `second` is true."""
    texts = []
    for is_bad in second:
        phrases = bad if is_bad else good
        chosen = random.permutation(len(phrases))[: 1 + math.floor(2.0 * random.uniform())]
        texts.append(", ".join(phrases[k] for k in chosen))
    return texts
