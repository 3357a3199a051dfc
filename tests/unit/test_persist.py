"""Files of models: what is data and what is refused, on both ways, and files that someone else made."""

import io
import json
import os
import resource
import signal
import stat
import struct
import zipfile

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import tenfold
from saved import Contents, same
from tenfold.losses import Huber
from tenfold.persist import LoadError, SaveError
from tenfold.persist.archive import parse_array
from tenfold.persist.values import Reader, Writer

X = np.random.default_rng(0).standard_normal((40, 3))
y = X @ [1.0, -2.0, 0.5] + 1.0


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.tenfold"


@pytest.fixture
def ridge(path):
    """A file with a model, and its contents."""
    tenfold.save(tenfold.Ridge().fit(X, y), path)
    return Contents(path.read_bytes())


def attributes(contents):
    return contents.json["model"]["model"]["attributes"]


def check_error(path, file, words):
    path.write_bytes(file if isinstance(file, bytes) else file.file())
    with pytest.raises(LoadError, match=words):
        tenfold.load(path)


def no_instance(writer, value, where):
    raise SaveError(f"{where} is {value!r}")


def again(value):
    """A value that was written and read."""
    writer = Writer(no_instance)
    text = json.dumps(writer.write(value, "value"), allow_nan=False)
    files = []
    for array in writer.arrays:
        file = io.BytesIO()
        np.lib.format.write_array(file, array, allow_pickle=False)
        files.append(parse_array(file.getvalue(), "array", 1 << 30))
    return Reader(files.__getitem__, {}, 50).read(json.loads(text))


VALUES = [
    None,
    True,
    0,
    -(1 << 300),
    1 << 20_000,
    0.1,
    -0.0,
    5e-324,
    1.7976931348623157e308,
    float("inf"),
    float("-inf"),
    float("nan"),
    "a word, ø, 漢 and \ud800",
    [1, [2.5, None], ()],
    (1, "a", (True,)),
    {"a": 1, 2: "b", None: 3.0, (1, 2): [4], 1.5: {}},
    {1, 2, 3},
    frozenset({"a"}),
    slice(1, None, 2),
    slice("a", "b"),
    range(3, 9, 2),
    np.float64(0.1),
    np.float32("nan"),
    np.int8(-3),
    np.bool_(True),
    np.str_("word"),
    np.datetime64("2020-01-01"),
    np.timedelta64(3, "h"),
    np.complex128(1 + 2j),
    np.dtype("<f4"),
    np.dtype("O"),
    np.float64,
    int,
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.zeros((0, 4), np.float32),
    np.array(3.5),
    np.array([True, False]),
    np.array(["a", "bcd"]),
    np.array([b"a", b"bcd"]),
    np.array(["2020-01-01", "NaT"], "datetime64[D]"),
    np.array([1, "a", None, 2.5, float("nan")], dtype=object),
    np.array([[1, 2], [3, 4]], dtype=np.uint16),
    sparse.csr_array(np.eye(3)),
    sparse.csc_matrix(np.eye(3, dtype=np.float32)),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_come_back_to_the_bit(value):
    result = again(value)
    assert same(result, value)
    if isinstance(value, np.ndarray):
        assert result.flags.writeable
        assert result.flags.f_contiguous == value.flags.f_contiguous


@pytest.mark.parametrize("name", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_random_state_is_restored(name):
    generator = np.random.Generator(getattr(np.random, name)(3))
    generator.standard_normal(5)
    result = again(generator)
    assert np.array_equal(result.standard_normal(7), generator.standard_normal(7))
    legacy = np.random.RandomState(2)
    legacy.standard_normal(3)
    assert np.array_equal(again(legacy).standard_normal(3), legacy.standard_normal(3))


def test_invalid_random_state_raises():
    writer = Writer(no_instance)
    text = writer.write(np.random.RandomState(0), "random")
    text["random"][2]["dict"][1][1]["dict"][1][1] = 100_000  # a place behind the end, where C would read
    with pytest.raises(LoadError, match="no state"):
        Reader(writer.arrays.__getitem__, {}, 50).read(text)


def test_arrays_in_other_orders_come_back_by_value():
    swapped = np.arange(4.0).astype(">f8")
    assert np.array_equal(again(swapped), swapped)
    assert np.array_equal(again(np.arange(10.0)[::3]), [0.0, 3.0, 6.0, 9.0])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.zeros(2, dtype=[("a", "f8")]), "not kept"),
        (sparse.coo_array(np.eye(2)), "tocsr"),
        (object(), "object"),
        (b"bytes", "bytes"),
    ],
)
def test_unsupported_values_raise(value, words):
    with pytest.raises(SaveError, match=words):
        again(value)


def test_recursive_value_raises():
    value = [1]
    value.append({"inside": value})
    with pytest.raises(SaveError, match="contains itself"):
        again(value)
    twice = [1]
    assert again([twice, twice]) == [[1], [1]]


def test_function_raises_and_is_named(path):
    model = tenfold.KNeighborsClassifier(metric=lambda a, b: 0.0)
    with pytest.raises(SaveError, match=r"parameter 'metric' of KNeighborsClassifier is .*lambda.*Give a name"):
        tenfold.save(model, path)
    with pytest.raises(SaveError, match="parameter 'func' of FunctionTransformer"):
        tenfold.save(make_pipeline(FunctionTransformer(np.log1p), tenfold.Ridge()), path)
    assert not path.exists()


def test_unknown_class_raises_and_is_named(path):
    with pytest.raises(SaveError, match=r"RandomForestRegressor, which is not kept.*StandardScaler"):
        tenfold.save(make_pipeline(StandardScaler(), RandomForestRegressor()), path)
    with pytest.raises(SaveError, match="takes an estimator; got a dict"):
        tenfold.save({"a": 1}, path)

    search = tenfold.selection.Search(tenfold.Ridge(), {"alpha": [0.1, 1.0]}, cv=3).fit(X, y)
    with pytest.raises(SaveError, match="Save its best_estimator_"):
        tenfold.save(search, path)
    tenfold.save(search.best_estimator_, path)
    assert np.array_equal(tenfold.load(path).predict(X), search.predict(X))

    class Ridge(tenfold.Ridge):
        pass

    with pytest.raises(SaveError, match="not kept"):
        tenfold.save(Ridge(), path)


def test_a_model_that_could_not_be_loaded_is_not_saved(path):
    model = tenfold.Ridge().fit(X, y)
    model.coef_ = model.coef_ * np.nan
    with pytest.raises(SaveError, match="coef_ must be"):
        tenfold.save(model, path)
    model = tenfold.Ridge().fit(X, y)
    model.remark = "mine"
    with pytest.raises(SaveError, match="remark is not known"):
        tenfold.save(model, path)


def test_names_routing_losses_and_splitters_are_saved(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    with sklearn.config_context(enable_metadata_routing=True):
        model = tenfold.RidgeCV(cv=KFold(4, shuffle=True, random_state=0)).set_fit_request(sample_weight=True)
        tenfold.save(model.fit(frame, y), path)
        loaded = tenfold.load(path)
        assert str(loaded.get_metadata_routing()) == str(model.get_metadata_routing())
    assert list(loaded.feature_names_in_) == ["a", "b", "c"]
    assert np.array_equal(loaded.predict(frame), model.predict(frame))
    for splitter in (loaded.cv, GroupKFold(3), ShuffleSplit(2, test_size=0.5, random_state=1)):
        tenfold.save(tenfold.RidgeCV(cv=splitter), path)
        assert repr(tenfold.load(path).cv) == repr(splitter)
    tenfold.save(tenfold.GeneralizedLinear(loss=Huber(1.5)).fit(X, y), path)
    assert tenfold.load(path).loss == Huber(1.5)
    scaler = StandardScaler().set_output(transform="pandas").fit(frame)
    tenfold.save(scaler, path)
    assert list(tenfold.load(path).transform(frame).columns) == ["a", "b", "c"]


def test_partial_fit_continues_after_load(path):
    batches = np.array_split(np.random.default_rng(1).standard_normal((90, 2)) * 3.0, 3)
    model = tenfold.MiniBatchKMeans(3, random_state=0)
    for batch in batches[:2]:
        model.partial_fit(batch)
    tenfold.save(model, path)
    loaded = tenfold.load(path)
    assert np.array_equal(
        loaded.partial_fit(batches[2]).cluster_centers_, model.partial_fit(batches[2]).cluster_centers_
    )


def test_save_replaces_a_file_atomically(path, monkeypatch):
    path.write_bytes(b"before")
    path.chmod(0o600)
    model = tenfold.Ridge().fit(X, y)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(SaveError, match=r"No space left on device.*nothing was left"):
            tenfold.save(model, path)
    assert path.read_bytes() == b"before"
    assert os.listdir(path.parent) == [path.name]
    tenfold.save(model, path)
    assert os.listdir(path.parent) == [path.name]
    assert np.array_equal(tenfold.load(path).predict(X), model.predict(X))
    with pytest.raises(SaveError, match="no file in the folder"):
        tenfold.save(model, path / "below" / "model")


def test_full_disk(path):
    """The system itself refuses to write more."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    model = tenfold.KNeighborsRegressor().fit(np.random.default_rng(0).standard_normal((5000, 3)), np.zeros(5000))
    kept = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(SaveError, match="nothing was left behind"):
            tenfold.save(model, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, kept)
    assert os.listdir(path.parent) == []


def test_invalid_files_raise(path):
    with pytest.raises(LoadError, match="could not be opened"):
        tenfold.load(path)
    with pytest.raises(LoadError, match="could not be opened"):
        tenfold.load(path.parent)
    for file in (b"", b"short", b"something else than a zip, and long enough", b"PK\x03\x04" + bytes(100)):
        check_error(path, file, "too short|not a model|cut short")


def test_truncated_or_extended_file_raises(path, ridge):
    whole = path.read_bytes()
    for end in range(0, len(whole), 97):
        check_error(path, whole[:end], "short|damaged")
    check_error(path, whole + b"more", "added behind")
    check_error(path, b"more" + whole, "begin")


def test_checksums_cover_every_byte(path, ridge):
    """A bit of an entry that was turned is found by its sum."""
    whole = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        places = [(entry.header_offset, entry.compress_size) for entry in archive.infolist()]
    for start, size in places:
        changed = bytearray(whole)
        changed[start + 60 + size // 2] ^= 4
        check_error(path, bytes(changed), "damaged")


def zip_of(entries):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, text in entries:
            archive.writestr(entry, text)
    return file.getvalue()


@pytest.mark.parametrize("name", ["../escape.npy", "/etc/passwd", "arrays/../model.json", "arrays/01.npy", "other.txt"])
def test_unknown_entry_names_raise(path, ridge, name):
    ridge.entries[name] = b""
    check_error(path, ridge, "which no model has")


def test_duplicate_entries_raise(path, ridge):
    with pytest.warns(UserWarning, match="Duplicate name"):
        file = zip_of([("model.json", "{}"), ("model.json", "{}")])
    check_error(path, file, "two entries")


def test_symbolic_link_raises(path, ridge):
    link = zipfile.ZipInfo("model.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    check_error(path, zip_of([(link, "/etc/passwd")]), "link")


def test_encrypted_entry_raises(path, ridge):
    file = bytearray(zip_of([("model.json", "{}")]))
    directory = file.index(b"PK\x01\x02")
    file[6] |= 1
    file[directory + 8] |= 1
    check_error(path, bytes(file), "encrypted")


def test_other_compression_raises(path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("model.json", "{}")
    check_error(path, file.getvalue(), "compressed in a way")


def test_zip_bomb_raises(path, ridge):
    check_error(path, zip_of([("model.json", " " * 10_000_000)]), "max_ratio")


def test_overlapping_entries_raise(path):
    """Many names for the same bytes: the directory points to one place twice."""
    file = bytearray(zip_of([("arrays/0.npy", b"a" * 50), ("arrays/1.npy", b"a" * 50)]))
    second = file.index(b"PK\x01\x02", file.index(b"PK\x01\x02") + 4)
    struct.pack_into("<I", file, second + 42, 0)
    check_error(path, bytes(file), "overlap|damaged")


def test_limits(path, ridge):
    path.write_bytes(ridge.file())
    assert tenfold.load(path).coef_.shape == (3,)
    for limits, words in [
        ({"max_bytes": 100}, "max_bytes"),
        ({"max_bytes": len(path.read_bytes()) - 1}, "max_bytes"),
        ({"max_entries": 2}, "max_entries"),
        ({"max_depth": 2}, "max_depth"),
        ({"max_array": 10}, "array"),
    ]:
        with pytest.raises(LoadError, match=words):
            tenfold.load(path, **limits)


def test_json_that_is_too_deep(path, ridge):
    deep = "[" * 100_000 + "]" * 100_000
    check_error(path, zip_of([("model.json", deep + "1" * 3)]), "damaged|max_ratio")
    attributes(ridge)["n_iter_"] = json.loads("[" * 300 + "]" * 300)
    check_error(path, ridge, "max_depth")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"not json", "damaged"),
        (b'{"format": 1, "format": 2}', "twice"),
        (b'{"format": NaN}', "no JSON"),
        (b'{"format": "other"}', "not a model"),
        (b"[]", "not a model"),
        (b'"\xff"', "damaged"),
        (b"1" * 5000, "damaged"),
    ],
)
def test_invalid_json_raises(path, text, words):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model.json", text)
    check_error(path, file.getvalue(), words)


def test_versions(path, ridge):
    later = ridge.copy()
    later.json["version"] = 2
    check_error(path, later, "version 2 of the format.*install a later")
    later.json["version"] = "1"
    check_error(path, later, "which version")
    more = ridge.copy()
    more.json["more"] = 1
    check_error(path, more, "nothing else")
    tenfold.save(make_pipeline(StandardScaler(), tenfold.Ridge()).fit(X, y), path)
    older = Contents(path.read_bytes())
    older.json["made by"]["scikit-learn"] = "1.2.3"
    path.write_bytes(older.file())
    with pytest.warns(InconsistentVersionWarning, match=r"Pipeline from version 1\.2\.3"):
        tenfold.load(path)


def test_new_parameter_has_its_default(path, ridge):
    del ridge.json["model"]["model"]["parameters"]["alpha"]
    path.write_bytes(ridge.file())
    assert tenfold.load(path).alpha == 1.0


def with_model(contents, **changes):
    changed = contents.copy()
    changed.json["model"]["model"] |= changes
    return changed


def test_classes_come_from_the_table(path, ridge):
    for name in ("os.system", "sklearn.Ridge", "tenfold.certify", "tenfold.Moments", "builtins.eval", 3, None):
        check_error(path, with_model(ridge, **{"class": name}), "is not loaded")
    check_error(path, with_model(ridge, more=1), "nothing else")
    for kind in ("reduce", "module", "Model"):
        changed = ridge.copy()
        changed.json["model"] = {kind: ["os", "system"]}
        check_error(path, changed, "not known here")
    changed = ridge.copy()
    changed.json["model"] = {"function": "system"}
    check_error(path, changed, "function 'system'")
    changed.json["model"] = [1, 2]
    check_error(path, changed, "does not use|something else")


def test_names_come_from_the_class(path, ridge):
    check_error(path, with_model(ridge, parameters={"__class__": 1}), "no parameter '__class__'")
    for name in ("predict", "__class__", "_registration", "fit"):
        changed = ridge.copy()
        attributes(changed)[name] = 1
        check_error(path, changed, f"no attribute {name!r}")


def test_parameters_are_those_that_fit_takes(path, ridge):
    changed = ridge.copy()
    changed.json["model"]["model"]["parameters"]["alpha"] = "large"
    check_error(path, changed, "alpha")


ARRAYS = [
    (np.zeros((2, 3)), "intercept_|coef_"),
    (np.zeros(4), "coef_ must be"),
    (np.zeros(3, int), "coef_ must be"),
    (np.zeros(3, np.float16), "coef_ must be"),
    (np.array([1.0, np.nan, 0.0]), "coef_ must be"),
    (np.array([1.0, np.inf, 0.0]), "coef_ must be"),
    (np.array(["a", "b", "c"]), "coef_ must be"),
    (np.zeros(3, dtype=">f8"), "header"),
    (np.zeros(3, dtype=[("a", "f8")]), "header"),
]


@pytest.mark.parametrize(("array", "words"), ARRAYS, ids=str)
def test_inconsistent_arrays_raise(path, ridge, array, words):
    number = attributes(ridge)["coef_"]["array"]
    ridge.put(number, array)
    if words.startswith("intercept_"):  # two rows of weights go with one intercept that is the same for both
        path.write_bytes(ridge.file())
        assert tenfold.load(path).predict(X).shape == (40, 2)
    else:
        check_error(path, ridge, words)


def test_an_array_of_objects_is_no_pickle(path, ridge):
    file = io.BytesIO()
    np.save(file, np.array([{}, None, 1], dtype=object), allow_pickle=True)
    ridge.entries[f"arrays/{attributes(ridge)['coef_']['array']}.npy"] = file.getvalue()
    check_error(path, ridge, "header")


@pytest.mark.parametrize(
    "shape", ["(1099511627776,)", "(4, 4)", "(0,)", "(3, 18446744073709551616)", "(-3,)", "(3", ""]
)
def test_false_header_allocates_no_memory(path, ridge, shape):
    name = f"arrays/{attributes(ridge)['coef_']['array']}.npy"
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    ridge.entries[name] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(24)
    check_error(path, ridge, "claims the shape|header")


def test_invalid_bits_raise(path):
    tenfold.save(tenfold.HuberRegressor().fit(X, y), path)
    contents = Contents(path.read_bytes())
    name = f"arrays/{attributes(contents)['outliers_']['array']}.npy"
    contents.entries[name] = contents.entries[name][:-1] + b"\x07"
    check_error(path, contents, "bits that are no values")


def test_array_used_twice_or_never_raises(path, ridge):
    changed = ridge.copy()
    attributes(changed)["n_iter_"] = attributes(changed)["coef_"]
    check_error(path, changed, "twice|does not use")
    ridge.put(99, np.zeros(3))
    check_error(path, ridge, "does not use")
    attributes(ridge)["coef_"] = {"array": "../../x"}
    check_error(path, ridge, "no array")


def change_model(model, path, name, array):
    tenfold.save(model, path)
    contents = Contents(path.read_bytes())
    result = attributes(contents)
    for step in name.split("."):
        result = result["record"][1][step] if "record" in result else result[step]
    contents.put(result["array"], array)
    return contents


def test_class_and_row_indices_are_checked(path):
    labels = np.digitize(X[:, 0], [-0.3, 0.3])
    model = tenfold.KNeighborsClassifier().fit(X, labels)
    check_error(path, change_model(model, path, "_y", np.full(40, 3)), "numbers of classes")
    check_error(path, change_model(model, path, "_y", np.full(40, -1)), "numbers of classes")
    check_error(path, change_model(model, path, "_fit_X", np.full((40, 3), np.nan)), "no missing values")
    check_error(path, change_model(model, path, "classes_", np.array([0, 2, 1])), "classes_ must be")
    check_error(path, change_model(model, path, "classes_", np.array([0, 0, 1])), "classes_ must be")
    weighted = tenfold.KNeighborsClassifier().fit(X, labels, sample_weight=np.tile([1.0, 0.0], 20))
    check_error(path, change_model(weighted, path, "_kept", np.arange(20) * 3), "_kept must be")
    voted = tenfold.VotedPerceptron(random_state=0).fit(X, labels)
    rows = len(voted._voters.row)
    check_error(path, change_model(voted, path, "_voters.row", np.full(rows, 10_000)), "Voters")
    check_error(path, change_model(voted, path, "_voters.up", np.full(rows, 3, np.int32)), "Voters")
    mixture = tenfold.GaussianNB().fit(X, labels)
    check_error(path, change_model(mixture, path, "var_", -mixture.var_), "var_ must be")


def test_cyclic_tree_raises(path):
    tenfold.save(tenfold.BisectingKMeans(3, random_state=0).fit(X), path)
    contents = Contents(path.read_bytes())
    attributes(contents)["_tree"][1] = {"tuple": [0, 2]}
    check_error(path, contents, "_tree must be a tree")


def test_sparse_indices_are_checked(path):
    model = tenfold.LogisticRegression().fit(X, y > 0).sparsify()
    tenfold.save(model, path)
    assert np.array_equal(tenfold.load(path).predict(X), model.predict(X))
    contents = Contents(path.read_bytes())
    _, _, data, indices, indptr = attributes(contents)["coef_"]["sparse"]
    for number, array in [
        (indices, np.array([0, 1, 3], np.int32)),
        (indices, np.array([0, 1, -1], np.int32)),
        (indptr, np.array([0, 9], np.int32)),
        (indptr, np.array([1, 3], np.int32)),
        (data, np.zeros(2)),
        (indices, np.zeros(3)),
    ]:
        changed = contents.copy()
        changed.put(number, array)
        check_error(path, changed, "sparse matrix")


def test_codes_of_sklearn_encoders_are_checked(path):
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.preprocessing import OneHotEncoder

    tenfold.save(OneHotEncoder(sparse_output=False).fit(np.arange(6).reshape(3, 2)), path)
    contents = Contents(path.read_bytes())
    attributes(contents)["_n_features_outs"] = [3, 1]
    check_error(path, contents, "categories and codes")
    tenfold.save(CountVectorizer().fit(["one two", "three"]), path)
    contents = Contents(path.read_bytes())
    attributes(contents)["vocabulary_"]["dict"][0][1] = 1_000_000
    check_error(path, contents, "number the columns")
