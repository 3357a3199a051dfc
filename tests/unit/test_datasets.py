"""Generators of toy data: seeds, shapes, and what the texts say of them."""

import csv
import inspect

import numpy as np
import pytest
from scipy.special import ndtr

from tenfold import datasets, separability
from tenfold.datasets import (
    load_demo,
    load_mails,
    make_boxes_and_fruit,
    make_cauchy,
    make_chessboard,
    make_cosine_with_gap,
    make_counts,
    make_distant,
    make_drift,
    make_gaussian_classes,
    make_gaussian_mixture,
    make_informative_and_noise,
    make_linear,
    make_mail,
    make_missing,
    make_noise,
    make_rings,
    make_scores,
    make_sentences,
    make_separable,
    make_sine,
    make_sine_cosine_views,
    make_spurious,
    make_table,
    make_tagged_sentences,
    make_two_views,
    make_xor,
    write_csv,
)

MAKERS = [name for name in datasets.__all__ if name.startswith("make_")]


def flat(value: object) -> list[object]:
    if isinstance(value, dict):
        return [entry for column in value.values() for entry in column]
    if isinstance(value, (tuple, list)):
        return [entry for part in value for entry in flat(part)]
    return list(np.ravel(np.asarray(value)))


def make(name: str, seed: object) -> list[object]:
    maker = getattr(datasets, name)
    return flat(maker(np.ones((30, 2)), random_state=seed) if name == "make_missing" else maker(random_state=seed))


def test_number_of_generators():
    assert len(MAKERS) >= 25


@pytest.mark.parametrize("name", MAKERS)
def test_a_seed_decides(name):
    one, two, other = (make(name, seed) for seed in (3, 3, 4))
    assert all(a == b or (a != a and b != b) for a, b in zip(one, two, strict=True))
    assert len(one) == len(two)
    assert [str(v) for v in one] != [str(v) for v in other]
    assert [str(v) for v in make(name, np.random.RandomState(3))] == [str(v) for v in one]


@pytest.mark.parametrize("name", MAKERS)
def test_docstring_has_source_and_random_state(name):
    maker = getattr(datasets, name)
    assert "random_state" in inspect.signature(maker).parameters
    assert ">>>" in maker.__doc__
    texts = ("Seeger", "Cookbook", "cookbook", "Welling", "Rosasco", "CMU")
    assert any(text in maker.__doc__ for text in texts) or name in ("make_table", "make_chessboard")


@pytest.mark.parametrize("name", [n for n in MAKERS if n not in ("make_missing", "make_table")])
def test_the_number_of_rows(name):
    result = getattr(datasets, name)(17, random_state=0)
    assert len(result[0]) == 17


# what the texts say ---------------------------------------------------------------------------------------------------


def wrong(predicted: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(predicted != y))


def test_bayes_errors():
    X, y = make_gaussian_classes(100_000, random_state=0)
    assert wrong(X[:, 0] > 0.0, y) == pytest.approx(ndtr(-1.0 / 0.6), abs=0.003)  # Rosasco 1.2
    for distance, error in ((0.0, 0.5), (1.0, 0.25), (2.0, 0.14758), (5.0, 0.06283), (10.0, 0.03173)):
        X, y = make_cauchy(100_000, distance=distance, random_state=0)
        assert wrong(X[:, 0] > 0.0, y) == pytest.approx(error, abs=0.006)  # Seeger 5.2.3


def test_boxes_and_fruit():
    X, y = make_boxes_and_fruit(200_000, random_state=0)
    orange, red = X[:, 0] == "orange", y == "red"
    for share, stated in (
        (red.mean(), 2 / 5),
        (orange.mean(), 9 / 20),
        (orange[red].mean(), 3 / 4),
        (red[orange].mean(), 2 / 3),
        ((~red)[~orange].mean(), 9 / 11),
    ):
        assert share == pytest.approx(stated, abs=0.005)
    assert sum(datasets.BOXES_AND_FRUIT.values()) == pytest.approx(1.0)


def test_the_mails_of_the_cookbook():
    X, y, words = load_mails()
    assert words == ("Dinner", "Cinema", "Buy", "Viagra")
    np.testing.assert_allclose(X[y == 1].mean(axis=0), [0, 0, 2 / 3, 2 / 3])
    np.testing.assert_allclose(X[y == 0].mean(axis=0), [1 / 2, 1 / 2, 1 / 2, 0])  # printed as 1/3
    assert y.mean() == 0.6


def test_two_squares_and_xor_have_the_same_moments_in_both_classes():
    for X, y in (make_xor(40_000, random_state=0), make_chessboard(40_000, squares=2, random_state=0)):
        np.testing.assert_allclose(X[y == 1].mean(axis=0), X[y == 0].mean(axis=0), atol=0.03)
    X, y = make_chessboard(10_000, flipped=0.1, random_state=0)
    assert wrong(np.floor(X).sum(axis=1) % 2, y) == pytest.approx(0.1, abs=0.02)


def test_margins_are_kept_in_the_ball():
    for p in (1, 2, 7):
        X, y = make_separable(60, p, margin=0.15, random_state=1)
        assert np.all(np.sum(X**2, axis=1) <= 1.0 + 1e-12)
        assert separability(X, y, fit_intercept=False).lower >= 0.15 - 1e-7


def test_covariances_are_shared_or_own():
    shared = np.array([[1.0, 0.8], [0.8, 1.0]])
    X, y = make_gaussian_classes(50_000, means=[[0, 0], [5, 5]], covariances=shared, random_state=0)
    for k in (0, 1):
        np.testing.assert_allclose(np.cov(X[y == k].T), shared, atol=0.03)
    own = np.array([np.diag([1.0, 4.0]), [[2.0, -1.0], [-1.0, 2.0]]])
    X, y = make_gaussian_classes(50_000, means=[[0, 0], [5, 5]], covariances=own, random_state=0)
    for k in (0, 1):
        np.testing.assert_allclose(np.cov(X[y == k].T), own[k], atol=0.08)


def test_views():
    X, Y = make_sine_cosine_views(50_000, random_state=0)
    assert abs(np.corrcoef(X.ravel(), Y.ravel())[0, 1]) < 0.02
    X, Y, s = make_two_views(20_000, hidden=True, random_state=0)
    assert np.abs(np.corrcoef(np.column_stack([X, Y, s]).T)[:4, 4]).max() < 0.3


def test_sines():
    X, y = make_sine(10, noise=0.0)
    np.testing.assert_allclose(y, np.sin(2 * np.pi * np.linspace(0, 1, 10)), atol=1e-15)
    X, y = make_sine(12, noise=0.25, spaced="with_ends", random_state=0)
    assert X[0, 0] == 0.0
    assert X[1, 0] == 1.0
    X, y = make_sine(50_000, noise=0.25, spaced="uniform", random_state=0)
    assert np.std(y - np.sin(2 * np.pi * X[:, 0])) == pytest.approx(0.25, abs=0.005)
    X, _ = make_cosine_with_gap(500, random_state=0)
    assert not np.any((X > 2.0) & (X < 5.0))
    assert X.min() >= 0.0
    assert X.max() <= 2 * np.pi


def test_linear_and_counts_follow_their_weights():
    X, y, w = make_linear(200, 20, n_informative=4, noise=0.0, coef=True, random_state=0)
    assert np.count_nonzero(w) == 4
    np.testing.assert_allclose(y, X @ w)
    X, y, w = make_counts(100_000, coef=True, random_state=0)
    assert y.mean() == pytest.approx(2.0 * np.exp(0.125), rel=0.02)


def test_missing_values():
    X = np.random.default_rng(0).standard_normal((4000, 3))
    assert np.isnan(make_missing(X, random_state=0)).mean() == pytest.approx(0.2, abs=0.02)
    incomplete = make_missing(X, pattern="by_first_column", random_state=0)
    assert not np.isnan(incomplete[:, 0]).any()
    assert not np.isnan(incomplete[X[:, 0] <= np.median(X[:, 0])]).any()
    assert np.isnan(incomplete[:, 1]).mean() == pytest.approx(0.2, abs=0.02)
    full = make_missing(X, pattern="saturated")
    assert np.nanmax(full, axis=0).max() < X[np.isnan(full)].max()
    assert np.isnan(full).mean(axis=0).tolist() == [0.2, 0.2, 0.2]
    np.testing.assert_array_equal(make_missing(X, rate=0.0), X)


def test_drift():
    X, y = make_drift(4000, drift="jump", noise=0.0, random_state=0)
    still, _ = make_drift(4000, drift="none", noise=0.0, random_state=0)
    np.testing.assert_array_equal(X, still)
    _, calm = make_drift(4000, drift="none", noise=0.0, random_state=0)
    assert np.array_equal(y[:2000], calm[:2000])
    assert np.array_equal(y[2001:], -calm[2001:])
    _, wandering = make_drift(4000, drift="inputs", noise=0.0, random_state=0)
    assert abs(wandering.mean()) < 0.1
    _, turned = make_drift(4000, drift="target", noise=0.0, random_state=0)
    assert np.mean(turned[:200] == calm[:200]) > 0.9
    assert np.mean(turned[-200:] == calm[-200:]) < 0.1


def test_sentences_have_no_two_gaps_in_a_row_and_none_at_the_ends():
    sentences, move = make_sentences(300, missing=0.5, random_state=0)
    np.testing.assert_allclose(move.sum(axis=1), 1.0)
    for words in sentences:
        assert words[0] >= 0
        assert words[-1] >= 0
        assert not np.any((words[1:] == -1) & (words[:-1] == -1))
    words, tags = make_tagged_sentences(10, random_state=0)
    assert all(len(w) == len(t) and np.all(w.sum(axis=1) == 1.0) for w, t in zip(words, tags, strict=True))


def test_small_print():
    X, y = make_noise(50, 20, random_state=0)
    assert y.mean() == 0.5
    X, y = make_informative_and_noise(random_state=0)
    assert np.array_equal(y > 0, X[:, 0] + X[:, 1] > 0)
    X, y = make_spurious(400, aligned=False, random_state=0)
    assert 0.4 < np.mean(X[:, -1] == y) < 0.6
    X, y = make_rings(300, radii=(1, 2, 3), noise=0.0, random_state=0)
    np.testing.assert_allclose(np.hypot(*X.T), y + 1.0)
    X, y = make_mail(4000, random_state=0)
    assert set(np.unique(X)) == {0, 1, 2}
    assert np.all(X[X[:, 1] > 0][:, 2] > 0)  # mortgage comes with home
    assert len(make_distant(20, random_state=0)[0]) == 20
    X, part = make_gaussian_mixture(4000, n_features=1, random_state=0)
    assert X.shape == (4000, 1)
    assert np.bincount(part)[0] / 4000 == pytest.approx(0.4, abs=0.03)


# tables ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_tables_have_columns_of_all_kinds(task, tmp_path):
    table, target = load_demo(task)
    assert {len(column) for column in table.values()} == {1000}
    assert None not in table[target]
    identifier, date = list(table)[:2]
    assert len(set(table[identifier])) == 1000
    assert all(len(day) == 10 and day[4] == "-" for day in table[date])
    assert sum(len(set(column)) == 1 for column in table.values()) == 1
    assert sum(None in column for column in table.values()) >= 4
    assert make_table(1000, task=task) == table
    assert None not in [value for column in make_table(50, task=task, missing=0.0).values() for value in column]
    path = write_csv(table, tmp_path / "table.csv")
    with path.open(newline="", encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    assert head == list(table)
    assert len(lines) == 1000
    for name, column in table.items():
        at = head.index(name)
        assert [line[at] for line in lines] == ["" if value is None else str(value) for value in column]


def test_tables_become_data_frames():
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    table = make_table(50)
    assert polars.DataFrame(table).shape == pandas.DataFrame(table).shape == (50, 12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: make_table(task="ranking"), "'classification' or 'regression'"),
        (lambda: make_sine(spaced="oddly"), "'evenly', 'uniform' or 'with_ends'"),
        (lambda: make_scores(kind="bad"), "'separated'"),
        (lambda: make_missing([[1.0]], rate=1.0), "less than 1"),
        (lambda: make_missing([[1.0]], pattern="x"), "'at_random'"),
        (lambda: make_drift(drift="sudden"), "'inputs', 'target', 'jump'"),
        (lambda: make_drift(10, 1), "at least 2"),
        (lambda: make_separable(margin=1.0), "less than 1"),
        (lambda: make_two_views(noise="white"), "'one_direction'"),
        (lambda: make_gaussian_mixture(n_features=3), "1 or 2"),
        (lambda: make_gaussian_classes(covariances=[[1.0, 2.0], [2.0, 1.0]]), "semi-definite"),
    ],
)
def test_invalid_arguments(call, words):
    with pytest.raises(ValueError, match=words):
        call()
