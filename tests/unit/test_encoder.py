"""Tables of mixed types as numbers with names."""

import datetime as dt
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, TargetEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import tenfold
from tenfold import LinearRegression, Ridge, RidgeCV, TableEncoder, check_table
from tenfold.features import CountBins, DateParts, Levels, Numbers, Ranks, TableError, TargetMeans, Texts, infer_schema
from tenfold.selection import shortcut


@parametrize_with_checks([TableEncoder(scale=True, sparse_output=True, many_levels="group")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def make_mixed(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": np.arange(1, rows + 1),
            "age": [None if i % 7 == 3 else float(v) for i, v in enumerate(rng.normal(40, 10, rows).round(1))],
            "price": [f"${v:,}" for v in rng.integers(1, 5000, rows)],
            "size": rng.choice(["S", "M", "L"], rows),
            "colour": [
                None if i % 11 == 5 else str(v) for i, v in enumerate(rng.choice(["red", "green", "blue"], rows))
            ],
            "smoker": rng.choice(["yes", "no"], rows),
            "on": [(dt.date(2020, 1, 1) + dt.timedelta(int(d))).isoformat() for d in rng.integers(0, 800, rows)],
            "note": [f"the quick brown {w} jumps over dog {i}" for i, w in enumerate(rng.choice(["fox", "cat"], rows))],
            "same": ["x"] * rows,
            "nothing": pl.Series([None] * rows, dtype=pl.String),
        }
    )


SIZES = {"size": ["S", "M", "L"]}


def test_every_kind_has_its_columns_and_its_names():
    table = make_mixed()
    encoder = TableEncoder(ordinal=SIZES).fit(table)
    names = encoder.get_feature_names_out().tolist()
    assert names[:4] == ["age", "price", "smoker", "age.missing"]
    assert {"size", "colour=blue", "colour=red", "colour=(missing)", "on.year", "on.month", "on.yearday_cos"} < set(
        names
    )
    assert {"note: fox", "note: cat"} < set(names)
    assert not {"on.hour", "on.missing"} & set(names)
    Z = encoder.transform(table)
    column = dict(zip(names, Z.T, strict=True))
    assert np.isfinite(Z).all()
    missing = table["age"].is_null().to_numpy()
    np.testing.assert_array_equal(column["age.missing"], missing)
    assert np.unique(column["age"][missing]) == table["age"].median()
    np.testing.assert_array_equal(column["smoker"], table["smoker"].to_numpy() == "yes")
    np.testing.assert_array_equal(column["colour=(missing)"], table["colour"].is_null())
    days = table["on"].str.to_date()
    np.testing.assert_array_equal(column["on.days"], (days - days.min()).dt.total_days())
    np.testing.assert_array_equal(column["on.weekday"], [d.weekday() for d in days])
    np.testing.assert_allclose(column["on.yearday_sin"] ** 2 + column["on.yearday_cos"] ** 2, 1.0)


def test_columns_that_are_left_out_are_named():
    said = [str(d) for d in TableEncoder(ordinal=SIZES).fit(make_mixed()).decisions_]
    assert "id: left out: identifier, the numbers 1 to 60 in order: a row number" in said
    assert "same: left out: constant, the same value, 'x', in all rows" in said
    assert "nothing: left out: empty, no values" in said
    assert any(s.startswith("age: 9 missing values set to the median") for s in said)
    assert any(s.startswith("on: taken apart into year, month, weekday") for s in said)


@pytest.mark.parametrize(
    "give", [pl.DataFrame.to_pandas, pl.DataFrame.to_arrow, pl.DataFrame.lazy], ids=["pandas", "arrow", "lazy"]
)
def test_frames_of_all_libraries_give_the_same(give):
    table = make_mixed()
    expected = TableEncoder(ordinal=SIZES).fit(table)
    result = TableEncoder(ordinal=SIZES).fit(give(table))
    assert result.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    np.testing.assert_array_equal(result.transform(table), expected.transform(give(table)))


def test_arrays_have_columns_by_number():
    X = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, 5.0]])
    encoder = TableEncoder().fit(X)
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x0.missing"]
    np.testing.assert_array_equal(encoder.transform(X), [[1, 2, 0], [2.5, 3, 1], [4, 5, 0]])
    mixed_up = np.array([["a", 1.5], ["b", 2.5], ["a", None]], dtype=object)
    assert TableEncoder().fit(mixed_up).get_feature_names_out().tolist() == ["x1", "x1.missing", "x0=a", "x0=b"]
    with pytest.raises(TypeError, match="sparse matrix was given"):
        TableEncoder().fit(sparse.eye_array(3))


def test_objects_of_pandas():
    frame = pd.DataFrame({"a": [1, "x", None], "b": pd.Categorical(["u", "v", "u"]), 3: [1.0, np.nan, 2.0]})
    encoder = TableEncoder().fit(frame)
    names = encoder.get_feature_names_out().tolist()
    assert names == ["3", "3.missing", "a=1", "a=x", "a=(missing)", "b=u", "b=v"]
    with pytest.raises(TableError, match="two columns are named 'a'"):
        TableEncoder().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_types_of_all_sorts():
    rows, hours = 30, [dt.datetime(2020, 1, 1) + dt.timedelta(hours=i) for i in range(30)]
    frame = pl.DataFrame(
        {
            "small": pl.Series(range(rows), dtype=pl.UInt8) % 7,
            "float": pl.Series(np.linspace(0, 1, rows), dtype=pl.Float32),
            "decimal": pl.Series([f"{i}.25" for i in range(rows)]).cast(pl.Decimal(10, 2)),
            "category": pl.Series(["a", "b"] * 15).cast(pl.Categorical),
            "zone": pl.Series(hours).dt.replace_time_zone("Europe/Berlin"),
            "milli": pl.Series(hours).cast(pl.Datetime("ms")),
            "duration": [dt.timedelta(minutes=i) for i in range(rows)],
            "time": [dt.time(i % 24, 30) for i in range(rows)],
            "bytes": [b"x", b"y"] * 15,
            "struct": [{"a": 1}] * rows,
            "nan": [float("nan")] * rows,
        }
    )
    encoder = TableEncoder().fit(frame)
    column = dict(zip(encoder.get_feature_names_out(), encoder.transform(frame).T, strict=True))
    assert encoder.schema_.of("nested", "empty") == ["bytes", "struct", "nan"]
    np.testing.assert_allclose(column["duration"], np.arange(rows) / 1440)
    np.testing.assert_allclose(column["time"], np.arange(rows) % 24 + 0.5)
    assert column["zone.hour"][1] == 0.0  # one o'clock in Berlin is midnight in Greenwich
    np.testing.assert_allclose(column["decimal"], np.arange(rows) + 0.25)
    pandas = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3] * 10, dtype="Int64"),
            "truth": pd.array([True, None, False] * 10, dtype="boolean"),
            "period": pd.period_range("2020-01", periods=rows, freq="M"),
            "interval": pd.cut(np.arange(rows), 3),
            "sparse": pd.arrays.SparseArray([0.0, 0.0, 2.0] * 10),
            "date": [dt.date(2020, 1, 1), None, dt.date(2021, 1, 1)] * 10,
        }
    )
    kinds = [c.kind for c in TableEncoder().fit(pandas).schema_.columns]
    assert kinds == ["number", "boolean", "date", "category", "number", "date"]


def test_clone_pickle_and_names_for_pandas():
    table = make_mixed()
    encoder = TableEncoder(ordinal=SIZES, scale=True).fit(table)
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.transform(table), encoder.transform(table))
    assert again.schema_ == encoder.schema_
    assert clone(encoder).fit(table).decisions_ == encoder.decisions_
    out = clone(encoder).set_output(transform="pandas").fit_transform(table)
    assert list(out.columns) == encoder.get_feature_names_out().tolist()
    np.testing.assert_array_equal(out.to_numpy(), encoder.transform(table))


def test_errors_in_new_rows_are_reported_with_their_place():
    table = make_mixed()
    encoder = TableEncoder(ordinal=SIZES).fit(table)
    with pytest.raises(TableError, match=r"(?i)the column 'colour' is missing: .* Is 'color' meant"):
        encoder.transform(table.rename({"colour": "color"}))
    with pytest.raises(TableError, match="row 3, column 'age': 'old' is not a number"):
        encoder.transform(table.with_columns(age=pl.Series(["1", "2", "old"] + ["4"] * 57)))
    with pytest.raises(TableError, match=r"row 2, column 'on': '5.1.2020' is not a date like those"):
        encoder.transform(table.with_columns(on=pl.Series(["2020-01-01"] + ["5.1.2020"] * 59)))
    with pytest.raises(TableError, match="row 60, column 'size': 'XL' is none of the declared levels 'S', 'M', 'L'"):
        encoder.transform(table.with_columns(size=pl.Series(["S"] * 59 + ["XL"])))
    with pytest.raises(TableError, match="row 1, column 'smoker': 'maybe' is not true or false, nor are 59 others"):
        encoder.transform(table.with_columns(smoker=pl.lit("maybe")))
    with pytest.raises(TableError, match="row 5, column 'age': inf"):
        encoder.transform(table.with_columns(age=pl.Series([1.0] * 4 + [np.inf] + [1.0] * 55)))
    # columns that were left out are not asked for, and the order is free
    some = table.select("note", "on", "smoker", "colour", "size", "price", "age")
    np.testing.assert_array_equal(encoder.transform(some), encoder.transform(table))
    with pytest.warns(UserWarning, match="1 column that the encoder does not know is ignored: 'more'"):
        encoder.transform(table.with_columns(more=1))


def test_numbers_may_come_as_text_and_text_as_numbers():
    encoder = TableEncoder(types={"c": "category"}).fit(pl.DataFrame({"n": [1.5, 2.5, 3.5], "c": [1, 2, 1]}))
    new = encoder.transform(pl.DataFrame({"n": ["1.5", "", None], "c": [1.0, None, 3.0]}))
    np.testing.assert_array_equal(new, [[1.5, 1, 0], [2.5, 0, 0], [2.5, 0, 0]])


def test_a_new_level_is_zero_everywhere_or_rare_and_can_be_counted():
    table = pl.DataFrame({"c": ["a"] * 30 + ["b"] * 30 + ["q"]})
    new = pl.DataFrame({"c": ["a", "z", "z", None]})
    encoder = TableEncoder(min_frequency=1).fit(table)
    np.testing.assert_array_equal(encoder.transform(new), [[1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]])
    assert encoder.unseen(new) == {"c": {"z": 2}}
    assert encoder.unseen(table) == {}
    rare = TableEncoder(min_frequency=5).fit(table)
    assert rare.get_feature_names_out().tolist() == ["c=a", "c=b", "c=(rare)"]
    np.testing.assert_array_equal(rare.transform(new), [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]])


def test_one_hot_equals_scikit_learns():
    table = make_mixed(200, seed=3).select("colour", "size")
    theirs = OneHotEncoder(handle_unknown="ignore").fit_transform(table.to_pandas().fillna("~"))
    ours = Levels().fit_transform(table)
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())


def test_table_4_1_of_the_cookbook():
    """Numbers as they are, ordinals as r/L, categories as unit vectors."""
    table = pl.DataFrame(
        {
            "x": [0.4, 1.8, -0.35, -0.7],
            "level": ["low", "medium", "low", "high"],
            "colour": ["red", "blue", "green", "green"],
        }
    )
    encoder = TableEncoder(ordinal={"level": ["low", "medium", "high"]}).fit(table)
    column = dict(zip(encoder.get_feature_names_out(), encoder.transform(table).T, strict=True))
    np.testing.assert_array_equal(column["x"], [0.4, 1.8, -0.35, -0.7])
    np.testing.assert_allclose(column["level"], [1 / 3, 2 / 3, 1 / 3, 1])
    colours = np.column_stack([column[f"colour={c}"] for c in ("red", "green", "blue")])
    np.testing.assert_array_equal(colours, [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0]])


def test_counts_in_three_bins():
    """Welling, section 6.1: 0, 1 and more than one are 0, 1, 2."""
    table = pl.DataFrame({"viagra": [0, 1, 2, 7]})
    encoder = TableEncoder(types={"viagra": "count"}).fit(table)
    np.testing.assert_array_equal(encoder.transform(table).ravel(), [0, 1, 2, 2])
    with pytest.raises(TableError, match="row 1, column 'viagra': -1 is not a count"):
        encoder.transform(pl.DataFrame({"viagra": [-1]}))


def many_levels(rows=600, levels=200, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"shop": [f"s{i}" for i in rng.integers(levels, size=rows)], "x": rng.standard_normal(rows)})


@pytest.mark.parametrize("target", ["number", "two", "three"])
def test_mean_targets_equal_scikit_learns(target):
    table, rng = many_levels(), np.random.default_rng(1)
    y = {"number": rng.standard_normal(600), "two": rng.choice(["n", "y"], 600), "three": rng.integers(3, size=600)}[
        target
    ]
    ours = TargetMeans(random_state=0).fit(table.select("shop"), y)
    kind = {"number": "continuous", "two": "binary", "three": "multiclass"}[target]
    theirs = TargetEncoder(target_type=kind).fit(table.select("shop").to_pandas(), y)
    np.testing.assert_allclose(
        ours.transform(table.select("shop")), theirs.transform(table.select("shop").to_pandas()), rtol=0, atol=1e-12
    )
    new = ours.transform(pl.DataFrame({"shop": ["new", None]}))
    np.testing.assert_array_equal(new, np.tile(ours.overall_, (2, 1)))


def test_no_target_leaks_into_its_own_row():
    """Noise: levels say nothing of the target, and the encoding of fit must not either."""
    table, rng = many_levels(rows=1000, levels=400), np.random.default_rng(2)
    y = rng.standard_normal(1000)
    encoder = TableEncoder()
    Z = encoder.fit_transform(table, y)
    place = encoder.get_feature_names_out().tolist().index("shop: mean target")
    assert encoder.supervised
    assert abs(np.corrcoef(Z[:, place], y)[0, 1]) < 0.1
    # the means of all rows know their own row: that is what cross-fitting is for
    assert np.corrcoef(encoder.transform(table)[:, place], y)[0, 1] > 0.4
    # no entry depends on the target of its own row
    other = y.copy()
    other[7] += 100.0
    moved = clone(encoder).fit_transform(table, other)
    np.testing.assert_array_equal(moved[7], Z[7])
    scores = cross_val_score(
        make_pipeline(TableEncoder(), Ridge()), table, y, cv=KFold(5, shuffle=True, random_state=0)
    )
    assert scores.mean() < 0.02


def test_many_levels_may_be_grouped():
    table, y = many_levels(), np.arange(600.0)
    grouped = TableEncoder(many_levels="group", max_levels=10, min_frequency=1)
    Z = grouped.fit_transform(table, y)
    assert Z.shape == (600, 1 + 11)
    assert not grouped.supervised
    assert TableEncoder(max_levels=10).fit(table).supervised is False  # no target, no means


def test_whether_rows_are_encoded_alone():
    plain = pl.DataFrame(
        {"x": [1.0, 2.5, 3.0], "d": ["2020-01-01", "2020-02-03", "2021-01-01"], "b": [True, False, True]}
    )
    assert TableEncoder().fit(plain).row_wise
    assert not TableEncoder(scale=True).fit(plain).row_wise
    assert not TableEncoder().fit(plain.with_columns(x=pl.Series([1.0, None, 2.0]))).row_wise
    assert not TableEncoder(ordinal=SIZES).fit(make_mixed()).row_wise
    levels = pl.DataFrame({"c": ["a", "b"] * 20 + ["z"]})
    assert TableEncoder(min_frequency=1).fit(levels).row_wise
    assert not TableEncoder(min_frequency=2).fit(levels).row_wise
    # before fit: only what is sure
    assert TableEncoder().supervised
    assert not TableEncoder().row_wise
    assert not TableEncoder(many_levels="group").supervised
    known = TableEncoder(types=infer_schema(plain).text())
    assert not known.supervised
    assert known.row_wise
    assert TableEncoder(types=infer_schema(many_levels())).supervised


def test_protocols_ask_the_encoder():
    """Exact shortcuts are taken unless the target may be used."""
    protocol, reason = shortcut(make_pipeline(TableEncoder(), RidgeCV()))
    assert protocol is None
    assert "TableEncoder looks at the target" in reason
    assert shortcut(make_pipeline(TableEncoder(many_levels="group"), RidgeCV()))[0] == "leave-one-out"
    plain = infer_schema(pl.DataFrame({"x": [1.0, 2.5, 3.0]})).text()
    assert shortcut(make_pipeline(TableEncoder(types=plain), RidgeCV()))[0] == "leave-one-out"
    many = infer_schema(many_levels()).text()
    assert shortcut(make_pipeline(TableEncoder(types=many), RidgeCV()))[0] is None


def test_folds_with_the_schema_of_the_table_have_the_same_columns():
    table = make_mixed(300, seed=5)
    encoder = TableEncoder(types=infer_schema(table, ordinal=SIZES).text())
    whole = encoder.fit(table).schema_
    part = clone(encoder).fit(table.sample(150, seed=0)).schema_
    assert [c.kind for c in part.columns] == [c.kind for c in whole.columns]
    # found anew, row numbers without their neighbours are numbers
    row = pl.DataFrame({"row": range(300), "x": range(0, 600, 2)})
    assert infer_schema(row)["row"].kind == "identifier"
    assert infer_schema(row.sample(150, seed=0))["row"].kind == "number"


def test_scale_touches_numbers_alone():
    table = make_mixed(200, seed=1)
    encoder = TableEncoder(ordinal=SIZES, scale=True).fit(table)
    column = dict(zip(encoder.get_feature_names_out(), encoder.transform(table).T, strict=True))
    for name in ("age", "price", "size", "on.days"):
        assert abs(column[name].mean()) < 1e-12
        assert column[name].std() == pytest.approx(1)
    assert set(np.unique(column["colour=red"])) == {0.0, 1.0}


def test_sparse_output():
    rng = np.random.default_rng(0)
    wide = pl.DataFrame({f"c{j}": rng.integers(100, size=3000).astype(str) for j in range(15)})
    wide = wide.select(pl.all() + "x")
    auto = TableEncoder(min_frequency=1).fit(wide)
    assert auto.sparse_output_
    Z = auto.transform(wide.head(10))
    assert isinstance(Z, sparse.csr_array)
    dense = TableEncoder(min_frequency=1, sparse_output=False).fit(wide).transform(wide.head(10))
    np.testing.assert_array_equal(Z.toarray(), dense)
    small = TableEncoder(ordinal=SIZES, sparse_output=True).fit(make_mixed())
    np.testing.assert_array_equal(
        small.transform(make_mixed()).toarray(), TableEncoder(ordinal=SIZES).fit(make_mixed()).transform(make_mixed())
    )
    with pytest.raises(ValueError, match="sparse_output is True, False or 'auto'"):
        TableEncoder(sparse_output="yes").fit(wide)


def test_names_never_come_twice():
    table = pl.DataFrame({"c=a": [1.0, 2.0, 4.0], "c": ["a", "b", "a"]})
    assert TableEncoder().fit(table).get_feature_names_out().tolist() == ["c=a", "c=a_2", "c=b"]


def test_nothing_to_encode():
    table = pl.DataFrame({"a": [1, 1, 1]})
    assert TableEncoder().fit_transform(table).shape == (3, 0)
    with pytest.raises(ValueError, match="no rows or no columns"):
        TableEncoder().fit(pl.DataFrame({"a": []}))


def test_dates_with_hours_and_gaps():
    table = pl.DataFrame({"t": ["2020-01-01 06:30", "2020-01-02 18:00", None, "2021-06-01 00:00"]})
    encoder = TableEncoder().fit(table)
    column = dict(zip(encoder.get_feature_names_out(), encoder.transform(table).T, strict=True))
    np.testing.assert_array_equal(column["t.hour"], [6.5, 18, 6.5, 0])
    np.testing.assert_array_equal(column["t.missing"], [0, 0, 1, 0])
    np.testing.assert_allclose(column["t.days"][1], 1 + 11.5 / 24)


def test_a_block_alone():
    table = make_mixed()
    assert Numbers().fit(table.select("age")).get_feature_names_out().tolist() == ["age", "age.missing"]
    assert Ranks([["S", "M", "L"]]).fit_transform(table.select("size")).max() == 1.0
    assert CountBins(top=1).fit_transform(pl.DataFrame({"n": [0, 5]})).ravel().tolist() == [0, 1]
    assert DateParts().fit(table.select(pl.col("on").str.to_date())).names_out_[0] == "on.year"
    empty = Texts().fit(pl.DataFrame({"t": ["", None]}))
    assert empty.transform(pl.DataFrame({"t": ["word"]})).shape == (1, 0)


@pytest.mark.parametrize("many", ["target", "group"])
def test_saved_and_loaded(tmp_path, many):
    table, rng = make_mixed(300, seed=8), np.random.default_rng(0)
    table = table.with_columns(shop=pl.Series([f"s{i}" for i in rng.integers(150, size=300)]))
    y = rng.standard_normal(300)
    types = infer_schema(table, ordinal=SIZES).text()
    model = make_pipeline(TableEncoder(types=types, scale=True, many_levels=many, max_levels=20), Ridge()).fit(table, y)
    tenfold.save(model, tmp_path / "model.tenfold")
    again = tenfold.load(tmp_path / "model.tenfold")
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert again[0].decisions_ == model[0].decisions_
    assert again[0].supervised is (many == "target")
    assert check_table(table, again).ok


def test_in_a_pipeline_of_ours():
    table, rng = make_mixed(300, seed=8), np.random.default_rng(0)
    y = (table["smoker"].to_numpy() == "yes") * 3.0 + 0.1 * rng.standard_normal(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make_pipeline(TableEncoder(ordinal=SIZES), Ridge()).fit(table, y)
        assert model.score(table, y) > 0.9
        assert make_pipeline(TableEncoder(many_levels="group"), LinearRegression()).fit(table, y).score(table, y) > 0.9
