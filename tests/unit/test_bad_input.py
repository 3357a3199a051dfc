"""Bad input: the right answer with its certificate, or a ValueError with what was expected, what came, what to do."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

import tenfold
from design import only_if
from estimators import SHAPES, SOLVED, fits, parameters, targets_for

pytestmark = pytest.mark.once_a_class
every_row = pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)


def tall(row):
    return SHAPES["tall"](row)


def fit_or_explain(row, X, y):
    """The fitted model and nothing, or nothing and the words of the ValueError."""
    try:
        return row.make().fit(X, y), ""
    except ValueError as error:
        return None, str(error)


def check_error(row, X, y, match, weight=None, error=ValueError):
    """fit raises, and the words fit the case."""
    with pytest.raises(error, match=match) as caught:
        row.make().fit(X, y, sample_weight=weight)
    return str(caught.value)


# -- values that are not numbers -------------------------------------------------------------------------------------

KINDS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "list": lambda X: X.tolist(),
}


@every_row
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_x_that_is_not_finite(row, kind, value, word):
    X, y, _ = tall(row)
    X[17, 2] = value
    message = check_error(row, KINDS[kind](X), y, f"(?i)Input X contains {word}")
    assert "X" in message


@every_row
@pytest.mark.parametrize("shape", ["wide", "square", "one column"])
@only_if(fits)
def test_x_that_is_not_finite_in_other_shapes(row, shape):
    X, y, _ = SHAPES[shape](row)
    X[-1, -1] = np.nan
    check_error(row, X, y, "Input X contains NaN")


@pytest.mark.parametrize("row", [row for row in SOLVED if row.classes > 2], ids=lambda row: row.id)
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_x_that_is_not_finite_with_many_classes(row, kind, value):
    X, y, _ = row.data(60, 4, count=4)
    X[17, 2] = value
    check_error(row, KINDS[kind](X), y, "(?i)Input X contains (NaN|infinity)")


@every_row
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_y_that_is_not_finite(row, value):
    X, y, _ = tall(row)
    y = np.arange(60) % 2.0 if row.classifier else y
    y[3] = value
    check_error(row, X, y, "(?i)Input y contains (NaN|infinity)")


@every_row
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_predicting_what_is_not_finite(row, value):
    X, y, _ = tall(row)
    model = row.make().fit(X, y)
    X[5, 1] = value
    for kind in (np.asarray, np.asfortranarray, sparse.csr_array):
        with pytest.raises(ValueError, match=r"(?i)Input X contains (NaN|infinity)"):
            model.predict(kind(X))


# -- shapes ----------------------------------------------------------------------------------------------------------


@every_row
def test_no_rows(row):
    _, y, _ = tall(row)
    check_error(row, np.zeros((0, 4)), y[:0], r"Found array with 0 sample\(s\)")


@every_row
def test_no_columns(row):
    _, y, _ = tall(row)
    check_error(row, np.zeros((60, 0)), y, r"0 feature\(s\)")


@every_row
def test_one_dimension(row):
    X, y, _ = tall(row)
    message = check_error(row, X[:, 0], y, "Expected 2D array, got 1D array instead")
    assert "reshape" in message


@every_row
def test_three_dimensions(row):
    X, y, _ = tall(row)
    check_error(row, X[:, :, None], y, "dim(ension)?.*3|3D|3.*dim")


@every_row
def test_y_with_three_dimensions(row):
    X, y, _ = tall(row)
    check_error(row, X, np.asarray(y)[:, None, None], "(?i)dim|shape|multi|3")


@every_row
def test_lengths_that_differ(row):
    X, y, _ = tall(row)
    message = check_error(row, X, y[:-1], "inconsistent numbers of samples")
    assert "60" in message
    assert "59" in message


@every_row
def test_other_number_of_columns_at_predict(row):
    X, y, _ = tall(row)
    model = row.make().fit(X, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(X[0])


@every_row
def test_y_missing(row):
    X, _, _ = tall(row)
    check_error(row, X, None, "requires y to be passed")


@every_row
def test_one_row(row):
    """A constant fits one row; what chooses a penalty or needs two classes says so."""
    X, y, _ = tall(row)
    if row.chooses:
        # leaving out the only row leaves nothing
        check_error(row, X[:1], y[:1], "(?i)row|sample|split|fold")
        return
    model, why = fit_or_explain(row, X[:1], y[:1])
    if model is None:
        assert row.classifier
        assert "class" in why, why
        return
    assert model.certificate_.ok
    if row.classifier:
        assert model.predict(X[:1]) == y[:1]
    elif row.intercept and not row.tied:
        np.testing.assert_allclose(model.predict(X[:1]), y[:1], rtol=1e-12)


@every_row
@pytest.mark.parametrize("n", [2, 3])
@only_if(lambda row: not (row.splits or row.tall))
def test_two_and_three_rows(row, n):
    X, y, _ = tall(row)
    y = np.array(["ant", "bee", "ant"][:n]) if row.classifier else y[:n]
    if row.settings.get("C") == np.inf:
        with pytest.warns(ConvergenceWarning, match="no maximum"):
            assert not row.make().fit(X[:n], y).certificate_.ok
        return
    assert row.make().fit(X[:n], y).certificate_.ok


# -- classes ---------------------------------------------------------------------------------------------------------

classifiers = pytest.mark.parametrize("row", [row for row in SOLVED if row.classifier], ids=lambda row: row.id)
regressors = pytest.mark.parametrize("row", [row for row in SOLVED if not row.classifier], ids=lambda row: row.id)


@classifiers
def test_one_class(row):
    """Refused, or the one class is what is predicted everywhere."""
    X, _, _ = tall(row)
    y = np.full(60, "ant")
    model, why = fit_or_explain(row, X, y)
    if model is None:
        assert "class" in why
        assert any(word in why for word in ("ant", "1", "one")), why
        return
    assert row.name != "LogisticRegression"
    assert model.certificate_.ok
    assert set(model.predict(X)) == {"ant"}


@classifiers
def test_one_class_left_by_the_weights(row):
    """Rows without weight do not count: a class that has no weight is not there."""
    X, y, _ = tall(row)
    weight = (y == "ant").astype(float)
    if row.name.startswith(("LogisticRegression", "LinearSVC", "GeneralizedLinear")) or row.separates:
        check_error(row, X, y, "class", weight=weight)
    else:
        # regression on -1 and +1 has an answer: the constant
        model = row.make().fit(X, y, sample_weight=weight)
        assert model.certificate_.ok
        assert set(model.predict(X)) == {"ant"} or not row.intercept


@classifiers
def test_continuous_targets(row):
    X, _, _ = tall(row)
    check_error(row, X, X[:, 0], "(?i)unknown label type|continuous")


@regressors
def test_words_as_targets(row):
    X, _, _ = tall(row)
    check_error(row, X, targets_for(row, np.array(["ant", "bee"] * 30)), "(?i)could not convert|numeric|string")


def test_weights_that_remove_one_of_three_classes():
    X, _, _ = tall(SOLVED[0])
    y = np.array(["ant", "bee", "cat"] * 20)
    model = tenfold.LogisticRegression().fit(X, y, sample_weight=(y != "cat").astype(float))
    assert model.certificate_.ok
    assert "cat" not in model.predict(X)
    with pytest.raises(ValueError, match=r"one class: .*'ant'"):
        tenfold.LogisticRegression().fit(X, y, sample_weight=(y == "ant").astype(float))


@pytest.mark.parametrize("labels", [[0.0, 1.0, 2.0], ["ant", "bee", "cat"], [-5, 1000000, 7], [3, 4, 9]])
def test_labels_of_three_classes(labels):
    X, _, _ = tall(SOLVED[0])
    y = np.array(labels)[np.arange(60) % 3]
    model = tenfold.LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.classes_.dtype == y.dtype
    assert set(model.predict(X)) <= set(labels)


def test_labels_that_are_booleans():
    X, _, _ = tall(SOLVED[0])
    model = tenfold.LogisticRegression().fit(X, X[:, 0] > 0.3)
    assert model.classes_.dtype == bool
    assert model.predict(X).dtype == bool


@pytest.mark.parametrize("labels", [["ant", 1], [1, "ant"], ["ant", None]])
@pytest.mark.parametrize("name", ["LogisticRegression", "LinearSVC", "SGDClassifier", "Perceptron", "GaussianNB"])
def test_labels_of_mixed_types_raise(name, labels):
    X, _, _ = tall(SOLVED[0])
    with pytest.raises(TypeError, match="uniformly strings or numbers, got"):
        getattr(tenfold, name)().fit(X, np.array(labels * 30, dtype=object))


# -- dtypes ----------------------------------------------------------------------------------------------------------


@every_row
def test_words_in_x(row):
    y = tall(row).y
    check_error(row, np.full((60, 4), "word"), y, "(?i)convert|string|numeric", error=(ValueError, TypeError))


@every_row
def test_objects_that_are_numbers(row):
    X, y, _ = tall(row)
    plain, objects = row.make().fit(X, y), row.make().fit(X.astype(object), y)
    np.testing.assert_array_equal(parameters(plain), parameters(objects))


@every_row
def test_objects_that_are_not_numbers(row):
    X, y, _ = tall(row)
    X = X.astype(object)
    X[4, 1] = {"a": 1}
    check_error(row, X, y, ".", error=(ValueError, TypeError))


@every_row
def test_complex_numbers(row):
    X, y, _ = tall(row)
    check_error(row, X + 1j, y, "(?i)complex")


@every_row
def test_booleans_and_small_integers(row):
    X, y, _ = tall(row)
    for dtype in (bool, np.int8, np.uint8, np.int32):
        whole = (X > 0.5).astype(dtype)
        model, plain = row.make().fit(whole, y), row.make().fit(whole.astype(float), y)
        assert model.coef_.dtype == np.float64
        np.testing.assert_array_equal(parameters(model), parameters(plain))


@every_row
def test_integers_near_overflow(row):
    """Integers become float64 before anything is multiplied."""
    X, y, _ = tall(row)
    limit = np.iinfo(np.int64).max
    whole = (X / np.abs(X).max() * 0.9 * limit).astype(np.int64)
    if row.robust and row.units:
        check_error(row, whole, y, "Scale the columns")
        return
    if row.settings.get("C") is not None:
        # weights of about 1e-18 are not penalised at all: a classifier by the weights' size alone
        model = row.make().fit(whole, y)
        assert model.certificate_.ok, model.certificate_.explain()
        return
    model, plain = row.make().fit(whole, y), row.make().fit(whole.astype(float), y)
    assert model.certificate_.ok or row.separates  # where an intercept of ones is nothing beside the rows
    np.testing.assert_array_equal(parameters(model), parameters(plain))
    skipped = row.classifier or row.positive or row.selects or row.counts or row.robust or (row.lasso and row.chooses)
    skipped = skipped or row.repeats  # priors of precisions have the units of the data
    if not skipped and row.intercept:
        # the same fit as in other units, the penalty negligible
        free = tenfold.LinearRegression().fit(X, y)
        np.testing.assert_allclose(model.predict(whole), free.predict(X), rtol=1e-6)


@every_row
def test_float16_and_longdouble(row):
    X, y, _ = tall(row)
    for dtype in (np.float16, np.longdouble):
        model = row.make().fit(X.astype(dtype), y)
        assert model.coef_.dtype == np.float64
        assert model.certificate_.ok


@every_row
def test_masked_arrays_are_not_read_behind_their_mask(row):
    """scikit-learn drops masks; whatever is done, values that are finite give a finite certified fit."""
    X, y, _ = tall(row)
    masked = np.ma.masked_array(X, mask=False)
    np.testing.assert_array_equal(parameters(row.make().fit(masked, y)), parameters(row.make().fit(X, y)))


@classifiers
def test_a_column_of_classes_is_flattened_with_a_warning(row):
    X, y, _ = tall(row)
    with pytest.warns(DataConversionWarning):
        model = row.make().fit(X, y[:, None])
    np.testing.assert_array_equal(parameters(model), parameters(row.make().fit(X, y)))


# -- weights ---------------------------------------------------------------------------------------------------------

BAD_WEIGHTS = {
    "negative": (lambda n: np.where(np.arange(n) == 3, -1.0, 1.0), "(?i)negative"),
    "not a number": (lambda n: np.where(np.arange(n) == 3, np.nan, 1.0), "(?i)NaN"),
    "infinite": (lambda n: np.where(np.arange(n) == 3, np.inf, 1.0), "(?i)infinity"),
    "all zero": (np.zeros, "(?i)zero"),
    "too short": (lambda n: np.ones(n - 1), "(?i)shape|inconsistent|expected"),
    "too long": (lambda n: np.ones(n + 1), "(?i)shape|inconsistent|expected"),
    "a matrix": (lambda n: np.ones((n, 1)), "(?i)1D"),
    "words": (lambda n: np.full(n, "heavy"), "(?i)convert|string|numeric"),
}


@every_row
@pytest.mark.parametrize("kind", BAD_WEIGHTS)
def test_bad_weights(row, kind):
    X, y, _ = tall(row)
    make, match = BAD_WEIGHTS[kind]
    message = check_error(row, X, y, match, weight=make(60))
    assert len(message) > 20


@every_row
def test_weights_of_extreme_size(row):
    """The unit of the weights matters only to a penalty; without one it does not matter at all."""
    X, y, _ = tall(row)
    for unit in (1e150,) if row.repeats else (1e-150, 1e150):
        model = row.make().fit(X, y, sample_weight=np.full(60, unit))
        assert np.isfinite(parameters(model)).all()
        assert model.certificate_.ok, (unit, model.certificate_.explain())
        penalised = row.unique or np.isfinite(row.settings.get("C", np.inf))
        if not (penalised or row.repeats or row.sequential):
            np.testing.assert_allclose(parameters(model), parameters(row.make().fit(X, y)), rtol=1e-6, atol=1e-9)


@every_row
def test_integer_and_list_weights(row):
    X, y, _ = tall(row)
    whole = np.arange(60) % 3 + 1
    plain = parameters(row.make().fit(X, y, sample_weight=whole.astype(float)))
    np.testing.assert_array_equal(parameters(row.make().fit(X, y, sample_weight=whole)), plain)
    np.testing.assert_array_equal(parameters(row.make().fit(X, y, sample_weight=whole.tolist())), plain)
    np.testing.assert_array_equal(
        parameters(row.make().fit(X, y, sample_weight=whole[::-1][::-1].astype(np.float32))), plain
    )


# -- scales ----------------------------------------------------------------------------------------------------------


@regressors
def test_all_columns_constant(row):
    y = tall(row).y
    model = row.make().fit(np.full((60, 4), 7.0), y)
    assert model.certificate_.ok is not row.separates
    if row.intercept and not row.robust:
        np.testing.assert_allclose(model.predict(np.full((2, 4), 7.0)), np.stack([y.mean(axis=0)] * 2), rtol=1e-10)


@classifiers
def test_all_columns_constant_for_classes(row):
    y = tall(row).y
    model = row.make().fit(np.full((60, 4), 7.0), y)
    assert model.certificate_.ok is not row.separates
    assert np.isfinite(parameters(model)).all()


@every_row
def test_all_columns_zero(row):
    y = tall(row).y
    for zeros in (np.zeros((60, 4)), sparse.csr_array((60, 4))):
        model = row.make().fit(zeros, y)
        assert model.certificate_.ok is not row.separates
        np.testing.assert_array_equal(np.atleast_2d(model.coef_), 0.0)


@regressors
def test_constant_target(row):
    X, _, _ = tall(row)
    model = row.make().fit(X, targets_for(row, np.full(60, 3.25)))
    assert model.certificate_.ok
    # beside a smooth loss the penalty of the intercept moves it
    moves = row.tied and "squared" in row.settings.get("loss", "")
    if row.intercept and not moves:
        np.testing.assert_allclose(model.predict(X), 3.25, rtol=1e-12)


@regressors
@only_if(lambda row: not row.counts)  # out of range, or the logarithm of zero
def test_zero_target(row):
    X, _, _ = tall(row)
    model = row.make().fit(X, targets_for(row, np.zeros(60)))
    assert model.certificate_.ok
    np.testing.assert_allclose(parameters(model), 0.0, atol=1e-300)


@every_row
@pytest.mark.parametrize("units", [(1e-150, 1.0), (1e150, 1.0), (1e-150, 1e150)], ids=["small", "large", "both"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_columns_of_extreme_scale(row, units, kind):
    """Columns at 1e-150 and 1e150: a certified answer, or a sentence about scales."""
    X, y, _ = tall(row)
    X = X * np.array([units[0], units[1], 1.0, 1.0])
    model, why = fit_or_explain(row, kind(X), y)
    if model is None:
        assert any(word in why for word in ("scale", "Scale", "Divide")), why
        return
    # a perceptron sees the largest column alone, and finds no separation in it: its certificate says so
    assert model.certificate_.ok or row.separates, model.certificate_.explain()
    assert np.isfinite(parameters(model)).all()
    if not (row.unique or row.classifier or row.positive or row.units):
        # least squares does not know units: the same predictions as in ordinary ones
        plain = row.make().fit(tall(row).X, y)
        np.testing.assert_allclose(model.predict(X), plain.predict(tall(row).X), rtol=1e-8)


@every_row
@pytest.mark.parametrize("unit", [1e-310, 1e305])
def test_columns_at_the_ends_of_the_numbers(row, unit):
    """Subnormal columns and columns whose sums overflow: an answer that is certified, or a refusal with advice."""
    X, y, _ = tall(row)
    X[:, 0] *= unit
    model, why = fit_or_explain(row, X, y)
    if model is None:
        assert any(word in why for word in ("scale", "Scale", "Divide", "large")), why
        return
    assert np.isfinite(parameters(model)).all()
    assert model.certificate_.ok, model.certificate_.explain()


@regressors
@pytest.mark.parametrize("unit", [1e-150, 1e150])
# a logarithm does not know units, and a penalty on weights beside absolute errors does
@only_if(lambda row: not (row.counts or row.robust))
def test_targets_of_extreme_scale(row, unit):
    X, y, _ = tall(row)
    model, plain = row.make().fit(X, y * unit), row.make().fit(X, y)
    assert model.certificate_.ok
    # a penalty that is not of the degree of the loss, or priors of precisions, which have units
    if not (row.lasso or row.repeats):
        np.testing.assert_allclose(parameters(model) / unit, parameters(plain), rtol=1e-9)


@every_row
def test_duplicate_entries_and_unsorted_indices_of_sparse_rows(row):
    """Entries given twice count twice, whatever their order."""
    X, y, _ = tall(row)
    half = sparse.coo_array(
        (np.tile(0.5 * X.ravel(), 2), (np.tile(np.repeat(np.arange(60), 4), 2), np.tile(np.arange(4), 120)))
    )
    raw = half.tocsr()
    n_before = None
    indices = np.concatenate([np.tile([3, 1, 0, 2, 3, 1, 0, 2], 60)]).astype(np.int32)
    data = np.concatenate([0.5 * X[:, [3, 1, 0, 2, 3, 1, 0, 2]]]).ravel()
    twice = sparse.csr_array((data, indices, np.arange(0, 481, 8).astype(np.int32)), shape=(60, 4))
    n_before = twice.nnz
    model = row.make().fit(twice, y)
    assert twice.nnz == n_before
    np.testing.assert_allclose(parameters(model), parameters(row.make().fit(raw, y)), rtol=1e-10, atol=1e-12)
    # dense and sparse samples may have different solvers, which agree to what they converge to
    tight = {"tol": 1e-10} if row.kind == "gap" and "tol" in model.get_params() else {}
    models = [row.make(**tight).fit(samples, y) for samples in (twice, X)]
    np.testing.assert_allclose(*map(parameters, models), rtol=1e-6, atol=1e-8)


@every_row
def test_long_indices_of_sparse_rows(row):
    X, y, _ = SHAPES["sparse"](row)
    long = sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    np.testing.assert_allclose(
        parameters(row.make().fit(long, y)), parameters(row.make().fit(X, y)), rtol=1e-12, atol=1e-13
    )


@every_row
def test_not_fitted(row):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="not fitted yet"):
        row.make().predict(np.zeros((2, 4)))


@every_row
@pytest.mark.parametrize("constant", [0.1, 3.0, 1.0 / 3.0, 1e5 / 3.0])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_constant_column_has_no_weight(row, constant, kind):
    """Beside an intercept it says nothing: the shortest solution, and every penalised one, leaves it out."""
    X, y, _ = tall(row)
    X[:, 2] = constant
    model = row.make().fit(kind(X), y)
    # a constant of this size makes the margin tiny beside the rows: more passes than are allowed
    assert model.certificate_.ok or (row.separates and constant > 1e3)
    if row.intercept and not row.separates and not row.tied:
        weights = np.atleast_2d(model.coef_)[:, 2]
        np.testing.assert_allclose(weights * constant, 0.0, atol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["GaussianNB", "ComplementNB", "MultinomialNB", "LinearDiscriminantAnalysis"])
def test_message_names_the_value_that_is_not_finite(name, value):
    """Many rows are not searched before: scores that are not finite are."""
    X = np.random.default_rng(0).poisson(3.0, (2000, 6)).astype(np.float64)
    model = getattr(tenfold, name)().fit(X, np.arange(2000) % 3)
    X[1234, 5] = value
    with pytest.raises(ValueError, match="Input X contains"):
        model.predict(X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["QuadraticDiscriminantAnalysis", "PCA", "GaussianPlugIn", "CCA"])
def test_the_same_of_other_models(name, value):
    X = np.random.default_rng(0).standard_normal((2000, 6))
    y = X[:, :2] if name == "CCA" else np.arange(2000) % 3
    model = getattr(tenfold, name)().fit(X, y)
    X[1234, 0] = value
    with pytest.raises(ValueError, match="Input X contains"):
        (model.predict if hasattr(model, "classes_") else model.transform)(X)


# -- values that are not there ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("GaussianNB", "MixedNB takes missing values"),
        ("LinearDiscriminantAnalysis", "MixedNB takes missing values"),
        ("LogisticRegression", "MixedNB takes missing values"),
        ("Ridge", "TableEncoder fills and marks them"),
        ("PCA", "GaussianMixture takes missing values"),
        ("KMeans", "GaussianMixture takes missing values"),
        ("NearestNeighbors", "nan_euclidean.* GaussianMixture takes missing values"),
        ("KNeighborsClassifier", "nan_euclidean.* MixedNB takes missing values"),
    ],
)
def test_missing_values_are_sent_to_who_takes_them(name, advice):
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = np.arange(30) % 2
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match=rf"(?s)Input X contains NaN.*{advice}"):
        getattr(tenfold, name)().fit(X, y)


def test_those_who_take_missing_values_do():
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = np.arange(60) % 2
    X[4, 1] = np.nan
    for model in (tenfold.MixedNB(), tenfold.GaussianMixture(2), tenfold.KNeighborsClassifier(metric="nan_euclidean")):
        assert model.fit(X, y).certificate_.ok
    assert np.isfinite(tenfold.TableEncoder().fit_transform(X)).all()


def test_classes_with_one_column():
    X = np.random.default_rng(0).random((30, 1))
    model = tenfold.ComplementNB(alpha=0.1, norm=True).fit(X, np.arange(30) % 3)
    assert model.certificate_.ok
    np.testing.assert_array_equal(model.predict_proba(X), 1 / 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_components_of_rows_that_are_all_equal(dtype):
    model = tenfold.PCA(0.8).fit(np.full((20, 3), 3.0, dtype=dtype))
    assert model.n_components_ == 1
    np.testing.assert_array_equal(model.explained_variance_, 0.0)
